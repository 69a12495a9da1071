package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Delete deletes a branch of a remote if it is at a commit. The remote itself compares
// them, so that no other commit is lost in a race. A branch that does not exist is a
// success. The errors are those of [Push].
func Delete(ctx context.Context, env gitdir.Env, r Repo, branch, commit string) error {
	if err := deleteBranch(ctx, env, r, branch, commit); err != nil {
		return r.fail(ctx, "delete branch "+branch+" of", err)
	}
	return nil
}

func deleteBranch(ctx context.Context, env gitdir.Env, r Repo, branch, commit string) error {
	if err := gitdir.ValidBranch(branch); err != nil {
		return err
	}
	if !plumbing.IsHash(commit) || plumbing.NewHash(commit).IsZero() {
		return fmt.Errorf("%q is not a commit hash", commit)
	}
	at, err := ParseAddress(r.URL)
	if err != nil {
		return err
	}
	c, err := converse(ctx, at, r, receivePack, env)
	if err != nil {
		return err
	}
	defer c.close()
	cmd := &packp.Command{Name: plumbing.NewBranchReferenceName(branch), Old: plumbing.NewHash(commit)}
	switch now := c.refs.References[cmd.Name.String()]; {
	case now.IsZero():
		return nil
	case now != cmd.Old:
		return moved(branch, now)
	case !c.able.Supports(capability.DeleteRefs):
		return fmt.Errorf("%w: it does not allow deleting branches", ErrRejected)
	}
	// A request that only deletes has no pack.
	if err = c.update(cmd, bytes.NewReader(nil), 0); err == nil || ctx.Err() != nil || errors.Is(err, errNotSent) {
		return err
	}
	c.close()
	return checkAfterPush(ctx, env, at, PushOptions{Remote: r, Branch: branch, Expect: commit}, err)
}
