package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

// protecting returns a job with protected paths.
func protecting(j tasks.Job, globs ...string) tasks.Job {
	for _, g := range globs {
		j.Protect = append(j.Protect, permission.Protect(g, "m.yaml:7"))
	}
	j.Profile = j.Profile.Narrowed("commit.protect", j.Protect)
	return j
}

func TestProtectedPathsAreThoseOfTheRootAndTheWorkspace(t *testing.T) {
	build, _ := permission.Preset("build")
	spec := protecting(tasks.Job{Profile: build}, "*.lock", "x/**", "a*b/c/*.mod")
	e := editsOf(spec, "/tree[1]", "a*b/c")
	changed := []string{"a*b/c/go.lock", "a*b/c/d/go.lock", "a*b/c/x/y", "a*b/c/main.go", "a*b/c/go.mod", "a*b/c/.github/x"}
	var got []string
	for _, d := range e.barred(changed) {
		got = append(got, d.Request.Subject())
	}
	if diff := cmp.Diff([]string{"go.lock", "x/y", "go.mod", ".github/x"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(spec.Protect) != 3 || strings.Contains(spec.Protect[0].Pattern, "tree") {
		t.Error("the plan's rules have changed")
	}
	if all := (edits{root: "/t"}).barred(changed); all != nil {
		t.Errorf("without a rule: %v", all)
	}
}
