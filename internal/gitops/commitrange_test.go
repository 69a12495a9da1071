package gitops

import (
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/gittest"
)

// TestBeyondAgreesWithGitLog compares with git log --not.
func TestBeyondAgreesWithGitLog(t *testing.T) {
	s := gittest.NewSandbox(t)
	commit := func(message string) {
		s.Write(message, message)
		s.Run("add", "-A")
		s.Run("commit", "-qm", message)
	}
	commit("one")
	s.Run("branch", "old")
	for m := range strings.FieldsSeq("two three four") {
		commit(m)
	}
	s.Run("checkout", "-qb", "fork", "HEAD~2")
	commit("five")
	s.Run("checkout", "-qb", "feature", "HEAD~1")
	commit("six")
	s.Run("merge", "-qm", "seven", "fork")
	s.Run("merge", "-qm", "eight", "main")
	commit("nine")
	s.Run("checkout", "-q", "--orphan", "alone")
	commit("ten")
	r := opened(s)
	resolve := func(name string) string {
		if name == "" {
			return ""
		}
		return strings.TrimSpace(s.Run("rev-parse", name))
	}
	for _, from := range []string{"feature", "main", "fork", "old", "alone"} {
		for _, not := range []string{"main", "feature", "old", "alone", ""} {
			args := []string{"log", "--format=%s", from}
			if not != "" {
				args = append(args, "--not", not)
			}
			want := strings.Fields(s.Run(args...))
			got, complete, err := r.Beyond(t.Context(), resolve(from), resolve(not))
			if err != nil || !complete {
				t.Errorf("%s without %s: complete %v, %v", from, not, complete, err)
			}
			for i := range got {
				got[i] = strings.TrimSpace(got[i])
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s without %s: got %s, want %s", from, not, got, want)
			}
		}
	}
}

// TestBeyondInAShallowClone: a missing commit can't be excluded.
func TestBeyondInAShallowClone(t *testing.T) {
	s := gittest.NewSandbox(t)
	for _, name := range []string{"a", "b", "c"} {
		s.Write(name, "1")
		s.Commit()
	}
	s.Run("clone", "-q", "--depth", "1", "file://"+s.Root, s.Home+"/shallow")
	shallow := s.At(s.Home + "/shallow")
	r := opened(shallow)
	tip := strings.TrimSpace(shallow.Run("rev-parse", "HEAD"))
	if def, err := r.Git.Default(); err != nil || def != tip {
		t.Errorf("default branch %s, %v; want %s", def, err, tip)
	}
	if got, complete, err := r.Beyond(t.Context(), tip, tip); len(got) > 0 || !complete || err != nil {
		t.Errorf("got %q, %v, %v", got, complete, err)
	}
	if _, complete, err := r.Beyond(t.Context(), tip, ""); complete || err != nil {
		t.Errorf("complete: %v, %v", complete, err)
	}
}
