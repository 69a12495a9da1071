package remote

import (
	"testing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

func TestABranchIsDeletedOnlyAtItsCommit(t *testing.T) {
	for _, kind := range []string{"file", "http", "ssh"} {
		t.Run(kind, func(t *testing.T) {
			o := newOrigin(t)
			remote := o.remotes(t)[kind]()
			r := o.mirrorOf(remote, 0)
			base := o.Run("rev-parse", "HEAD")
			ours := o.jobCommit(r, base, "ours\n")
			theirs := o.jobCommit(r, base, "theirs\n")
			before := o.bare.Run("for-each-ref")
			must(t, Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: theirs, Branch: "bot/x"}))
			remove := func(commit string) error { return Delete(t.Context(), r.Git.Env, remote, "bot/x", commit) }
			wantError(t, remove(ours), ErrLease)
			if at := o.at("bot/x"); at != theirs {
				t.Fatalf("the branch is at %q", at)
			}
			must(t, remove(theirs))
			must(t, remove(theirs)) // it is gone
			if after := o.bare.Run("for-each-ref"); after != before {
				t.Errorf("more was changed:\n%s\n%s", before, after)
			}
			o.bare.Run("config", "receive.denyDeletes", "true")
			must(t, Push(t.Context(), r.Git, PushOptions{Remote: remote, Commit: ours, Branch: "bot/x"}))
			wantError(t, remove(ours), ErrRejected)
		})
	}
	if err := Delete(t.Context(), gitdir.Env{}, Repo{URL: "/tmp"}, "x", ""); err == nil {
		t.Error("a branch is deleted at any commit")
	}
}
