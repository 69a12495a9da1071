package remote

import (
	"testing"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/testing/gittest"
)

var testAuthor = gitops.Signature{Name: "Jo", Email: "jo@example.com", When: gittest.TestTime}

func options(parent string) gitops.CommitOptions {
	return gitops.CommitOptions{Parent: parent, Message: "change\n\nbody", Author: testAuthor, Committer: testAuthor}
}

// measure returns what differs from a commit.
func measure(t *testing.T, r *gitops.Repo, commit string) *state.ChangeSet {
	t.Helper()
	from, err := r.SnapshotOf(commit)
	must(t, err)
	cs, err := r.Changes(t.Context(), from)
	must(t, err)
	return cs
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// open opens the git directory of a work tree.
func open(t *testing.T, s *gittest.Sandbox) *gitdir.Dir {
	t.Helper()
	git, err := gitdir.Open(s.Root, gitdir.Env{Home: s.Home})
	must(t, err)
	return git
}
