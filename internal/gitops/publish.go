package gitops

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// publish moves the reference and brings the index up to date. In place, all locks are
// taken before anything is changed: the index before the reference, as git does.
func (r *Repo) publish(ctx context.Context, t target, m movement, files []fileEntry) error {
	var idx *lockFile
	if t.inPlace {
		var err error
		if idx, err = r.prepareIndex(ctx, files, r.env); err != nil {
			return err
		}
		defer idx.release()
	}
	ref, err := r.lockRef(ctx, t)
	if err != nil {
		return err
	}
	defer ref.release()
	if err := ref.set(m.new); err != nil {
		return err
	}
	m.old = ref.old
	r.logMovement(ref.name, t.inPlace, m)
	if idx != nil {
		if err := idx.commit(); err != nil {
			return fmt.Errorf("%s is made, but write index: %w", m.new, err)
		}
	}
	if t.own {
		r.follow(ctx, m.new, files)
	}
	return nil
}

// lockRef locks what the commit moves and compares it with what is expected.
func (r *Repo) lockRef(ctx context.Context, t target) (*refUpdate, error) {
	if t.branch == "" {
		return r.lockDetachedHead(ctx, t.want.hash, r.env)
	}
	return r.lockBranch(ctx, t.branch, t.want)
}

// follow lets a linked worktree, which was made for one commit, move on to it.
// What the agent left there may be in the way: then the worktree stays as it is.
func (r *Repo) follow(ctx context.Context, commit plumbing.Hash, files []fileEntry) {
	env := r.env
	env.LockWait = time.Nanosecond // whoever held a lock here is gone
	idx, err := r.prepareIndex(ctx, files, env)
	if err != nil {
		return
	}
	defer idx.release()
	head, err := r.lockDetachedHead(ctx, plumbing.ZeroHash, env)
	if err != nil {
		return
	}
	defer head.release()
	if head.set(commit) == nil {
		_ = idx.commit()
	}
}

// prepareIndex locks the index and writes its new content into the lock.
func (r *Repo) prepareIndex(ctx context.Context, files []fileEntry, env Env) (*lockFile, error) {
	l, err := lock(ctx, filepath.Join(r.gitDir, "index"), env)
	if err != nil {
		return nil, err
	}
	idx, err := r.readIndex()
	if err == nil {
		idx.replace(files)
		err = l.write(idx.encode())
	}
	if err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}
