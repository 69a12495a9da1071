package gitops

import (
	"context"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/proc/failpoint"
)

// publish moves the reference and updates the index. In place, it acquires all
// locks before any change: the index before the reference, as git does.
func (c *committing) publish(ctx context.Context, t target, m gitdir.ReflogEntry, files []gitdir.IndexEntry) error {
	var idx *gitdir.LockFile
	if t.inPlace {
		var err error
		if idx, err = c.repo.Git.LockIndex(ctx, files); err != nil {
			return err
		}
		defer idx.Release()
	}
	ref, err := c.lockRef(ctx, t, m.New)
	if err != nil {
		return err
	}
	defer ref.Release()
	failpoint.Hit(failpoint.LockTaken, "")
	if err := ref.Set(m.New); err != nil {
		return err
	}
	failpoint.Hit(failpoint.BranchSet, "")
	m.Old = ref.Old
	c.repo.Git.AppendReflog(ref.Name, t.inPlace, m)
	if idx != nil {
		if err := idx.Commit(); err != nil {
			return fmt.Errorf("created commit %s, but write index: %w", m.New, err)
		}
	}
	if t.own && !c.o.Discarded {
		c.follow(ctx, m.New, files)
	}
	return nil
}

// lockRef locks the reference to move and checks its expected value.
func (c *committing) lockRef(ctx context.Context, t target, next plumbing.Hash) (*gitdir.RefUpdate, error) {
	if t.branch == "" {
		return c.repo.Git.LockHead(ctx, t.want.Hash)
	}
	return c.repo.Git.LockBranch(ctx, t.branch, next, t.want)
}

// follow lets a linked worktree, which was made for one commit, move on to it.
// What the agent left there may be in the way: then the worktree stays as it is.
func (c *committing) follow(ctx context.Context, commit plumbing.Hash, files []gitdir.IndexEntry) {
	git := *c.repo.Git
	git.Env.LockWait = time.Nanosecond // the holder of any lock here has exited
	idx, err := git.LockIndex(ctx, files)
	if err != nil {
		return
	}
	defer idx.Release()
	head, err := git.LockHead(ctx, plumbing.ZeroHash)
	if err != nil {
		return
	}
	defer head.Release()
	if head.Set(commit) == nil {
		_ = idx.Commit()
	}
}

// MoveBranch moves a branch from one commit to another.
func (r *Repo) MoveBranch(ctx context.Context, branch, from, to string, by Signature) error {
	name := gitdir.BranchPrefix + branch
	ref, err := r.Git.LockBranch(ctx, name, plumbing.NewHash(to), gitdir.Expectation{Hash: plumbing.NewHash(from), Taken: gitdir.ErrConflict})
	if err != nil {
		return fmt.Errorf("move branch %s: %w", branch, err)
	}
	defer ref.Release()
	if err := ref.Set(plumbing.NewHash(to)); err != nil {
		return fmt.Errorf("move branch %s: %w", branch, err)
	}
	r.Git.AppendReflog(name, false, gitdir.ReflogEntry{Old: plumbing.NewHash(from), New: plumbing.NewHash(to), By: by.String(), Subject: "signed by the forge"})
	return nil
}
