package gitdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/gcfg"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// TestWhatGoGitLoses compares the configuration files that go-git 5.19.3 reads, and the names of branches that it accepts, with
// git, in tables that other tests compare with git, too. If go-git has changed, record the new number; if it is zero, use it
// instead of configtext.go or branch.go.
func TestWhatGoGitLoses(t *testing.T) {
	const files, names = 5, 2
	if n := differentConfigs(t); n != files {
		t.Errorf("%d of %d configuration files are read in another way than by git, not %d", n, len(configTexts), files)
	}
	if n := differentBranches(t); n != names {
		t.Errorf("%d of %d names of branches are judged in another way than by git, not %d", n, len(branchNames), names)
	}
}

func differentConfigs(t *testing.T) (n int) {
	t.Helper()
	s := gittest.NewSandbox(t)
	for _, text := range configTexts {
		file := filepath.Join(s.Home, "config")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		var got strings.Builder
		err := gcfg.ReadWithCallback(strings.NewReader(text), func(section, subsection, key, value string, blank bool) error {
			if key == "" {
				return nil
			}
			name := strings.ToLower(section)
			if subsection != "" {
				name += "." + subsection
			}
			got.WriteString(name + "." + strings.ToLower(key))
			if !blank {
				got.WriteString("\n" + value)
			}
			got.WriteString("\x00")
			return nil
		})
		want := s.Run("config", "--file", file, "--no-includes", "--null", "--list")
		if diff := cmp.Diff(want, got.String()); err != nil || diff != "" {
			n++
			t.Logf("%q: %v\n%s", text, err, diff)
		}
	}
	return n
}

func differentBranches(t *testing.T) (n int) {
	t.Helper()
	for _, name := range branchNames {
		if got := plumbing.NewBranchReferenceName(name).Validate() == nil; got != (ValidBranch(name) == nil) {
			n++
			t.Logf("%q is valid for go-git: %v", name, got)
		}
	}
	return n
}
