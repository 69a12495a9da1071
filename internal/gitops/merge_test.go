package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

func TestMergeAppliesTheDifferenceOfTwoCommits(t *testing.T) {
	s := gittest.NewSandbox(t)
	lines := func(first, last string) string { return first + strings.Repeat("\nx", 20) + "\n" + last + "\n" }
	s.Write("text", lines("a", "z"), "other", "1\n", "gone", "g\n")
	from := s.Commit()
	s.Write("text", lines("b", "z"), "new", "n\n")
	s.Remove("gone")
	to := s.Commit()
	s.Run("checkout", "-q", from)
	s.Write("text", lines("a", "y"), "other", "2\n")
	onto := s.Commit()
	s.Write("text", lines("c", "y"))
	conflicting := s.Commit()
	r := opened(s)
	merge := func(at, from, to string) (*Repo, error) {
		tree, err := r.AddWorktree(t.Context(), filepath.Join(t.TempDir(), "wt"), at)
		must(t, err)
		return tree, Merge(t.Context(), tree, at, from, to)
	}
	tree, err := merge(onto, from, to)
	must(t, err)
	text, err := os.ReadFile(filepath.Join(tree.Root(), "text"))
	must(t, err)
	if string(text) != lines("b", "y") {
		t.Errorf("text is %q", text)
	}
	var changed []string
	for _, c := range measure(t, tree, onto).Changes {
		changed = append(changed, string(c.Kind)+" "+c.Path)
	}
	if got := strings.Join(changed, ", "); got != "deleted gone, added new, modified text" {
		t.Errorf("changed: %s", got)
	}
	back, err := merge(to, to, from)
	must(t, err)
	if got := measure(t, back, from).Changes; len(got) != 0 {
		t.Errorf("the inverse differs: %v", got)
	}
	marked, err := merge(conflicting, from, to)
	if !errors.Is(err, ErrMerge) {
		t.Errorf("a conflict: %v", err)
	}
	text, err = os.ReadFile(filepath.Join(marked.Root(), "text"))
	if err != nil || !strings.Contains(string(text), "\n<<<<<<< ") && !strings.HasPrefix(string(text), "<<<<<<< ") {
		t.Errorf("the conflict is not marked: %q, %v", text, err)
	}
	changed = nil
	for _, c := range measure(t, marked, conflicting).Changes {
		changed = append(changed, string(c.Kind)+" "+c.Path)
	}
	if got := strings.Join(changed, ", "); got != "deleted gone, added new, modified text" {
		t.Errorf("changed with a conflict: %s", got)
	}
	s.Run("config", "merge.mine.driver", "touch hacked")
	if _, err := merge(onto, from, to); err == nil || errors.Is(err, ErrMerge) {
		t.Errorf("with the command of a merge driver: %v", err)
	}
}
