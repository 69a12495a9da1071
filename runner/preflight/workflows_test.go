package preflight

import "testing"

func TestGlobsThatMayIncludeADirectory(t *testing.T) {
	for glob, want := range map[string]bool{
		"**": true, "*.yml": true, ".github/**": true, ".github": true, ".github/workflows/ci.yml": true, ".git*/workflows/*": true,
		".github/workflows": true, "{src,.github}/**": true,
		"src/**": false, ".github/ISSUE_TEMPLATE/*": false, ".github/workflows2/*": false, "go.mod": false,
	} {
		if got := mayInclude([]string{"docs/*", glob}, ".github/workflows"); got != want {
			t.Errorf("%s: %t", glob, got)
		}
	}
	if !mayInclude(nil, ".github/workflows") {
		t.Error("no globs include nothing")
	}
}
