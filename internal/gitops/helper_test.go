package gitops

import (
	"testing"
	"time"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/testing/gittest"
)

// opened opens the working tree.
func opened(s *gittest.Sandbox) *Repo {
	s.T.Helper()
	r, err := Open(s.Root, envOf(s))
	if err != nil {
		s.T.Fatal(err)
	}
	return r
}

func envOf(s *gittest.Sandbox) gitdir.Env {
	return gitdir.Env{Home: s.Home, GitProgram: s.Git, LockWait: 50 * time.Millisecond}
}

var testAuthor = Signature{Name: "Jo", Email: "jo@example.com", When: gittest.TestTime}

func options(parent string) CommitOptions {
	return CommitOptions{Parent: parent, Message: "change\n\nbody", Author: testAuthor, Committer: testAuthor}
}

// measure returns the changes since a commit.
func measure(t *testing.T, r *Repo, commit string) *state.ChangeSet {
	t.Helper()
	from, err := r.SnapshotOf(commit)
	must(t, err)
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	return cs
}

func paths(cs *state.ChangeSet) []string {
	var list []string
	for _, c := range cs.Changes {
		list = append(list, c.Path)
	}
	return list
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
