package preflight

import (
	"context"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tasks"
)

// reverting determines what a revert changes: the branch or the working tree, which must be as
// the job left them.
func (p *checker) reverting(ctx context.Context, j tasks.Job, o *origin, s Start) (Start, error) {
	past := p.History.Job(j.ID)
	own := InPlace(j, o.head)
	var err error
	if s.Base, err = o.repo.Git.Resolve(past.First); err != nil {
		return s, &Refusal{Code: event.CodeBase, Err: err}
	}
	if past.Commit == nil {
		if own && o.head.Hash != past.Start.Base {
			return s, refuse(event.CodeBase, "%s is at commit %.10s, and the job started at %.10s: check that commit out to revert the job", o.repo.Root(), o.head.Hash, past.Start.Base)
		}
		return s, nil
	}
	s.Tip = past.Commit.Hash
	branch := past.Commit.Branch
	tip, _, err := o.repo.Git.Branch(branch)
	if err != nil {
		return s, &Refusal{Code: event.CodeBranchExists, Err: err}
	}
	switch {
	case tip == "":
		return s, refuse(event.CodeBranchForeign, "branch %s was deleted from %s; it was at %s", branch, o.repo.Root(), s.Tip)
	case tip != s.Tip:
		return s, refuse(event.CodeBranchForeign, "branch %s has moved: it is at %.10s, and the commit of the job is %.10s; nothing was changed", branch, tip, s.Tip)
	case own && o.head.Branch != branch:
		return s, refuse(event.CodeBase, "%s has another branch checked out: check out %s to revert the job", o.repo.Root(), branch)
	}
	if dir := checkedOut(o, branch, p.Git); dir != "" {
		return s, refuse(event.CodeDirty, "branch %s is checked out in %s: check out another branch there", branch, dir)
	}
	if o.head.Branch == branch {
		found, err := o.status()
		if err != nil {
			return s, err
		}
		if len(found.Dirty) > 0 {
			return s, refuse(event.CodeDirty, "branch %s is checked out in %s, which has uncommitted changes (%s): commit or stash them", branch, o.repo.Root(), textcut.List(found.Dirty))
		}
		if what := o.repo.Git.OperationInProgress(); what != "" {
			return s, refuse(event.CodeDirty, "%s is in the middle of a %s: finish or abort it first", o.repo.Root(), what)
		}
		s.CheckedOut = true
	}
	return s, p.unlocked(ctx, j, o, &s, gitdir.BranchPrefix+branch)
}

// checkedOut returns the directory of another worktree of the repository in which a branch is
// checked out; "" for none.
func checkedOut(o *origin, branch string, env gitdir.Env) string {
	for _, dir := range o.repo.Worktrees() {
		tree, err := gitops.Open(dir, env)
		if err != nil || tree.Git.Own == o.repo.Git.Own {
			continue // removed, or damaged
		}
		if head, err := tree.Git.Head(); err == nil && head.Branch == branch {
			return dir
		}
	}
	return ""
}
