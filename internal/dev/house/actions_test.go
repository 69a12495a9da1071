package house

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// uses is a step of a workflow that runs an action of a repository, with what comes
// behind the @.
var uses = regexp.MustCompile(`(?m)^\s*(?:- )?uses: ([\w-]+/[\w./-]+)@(\S+)(.*)$`)

// pinned is a commit and, for readers, the version that it is.
var pinned = regexp.MustCompile(`^[0-9a-f]{40} # v\d`)

// TestActionsArePinned holds README, examples and workflows to what SECURITY.md
// advises: a tag of somebody else's action can be moved to other code.
func TestActionsArePinned(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "*.md", "*.yml", "*.yaml").Output()
	if err != nil {
		t.Skipf("the tree is not a git repository: %v", err)
	}
	seen := 0
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		text, err := os.ReadFile(name)
		if err != nil {
			continue // removed and not committed yet
		}
		for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
			seen++
			if !strings.HasPrefix(m[1], "millhand/") && !pinned.MatchString(m[2]+m[3]) {
				t.Errorf("%s uses %s@%s%s: pin a commit and name its version in a comment", name, m[1], m[2], m[3])
			}
		}
	}
	if seen == 0 {
		t.Error("no action was found")
	}
}
