package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// job determines the state that a job starts from.
func (p *checker) job(ctx context.Context, j tasks.Job) (Start, error) {
	o := p.origins.of(j)
	switch {
	case j.Skip != "":
		return Start{Skip: &ending.Stop{Code: event.CodeCondition, Detail: j.Skip}}, nil
	case j.Repo.Kind == tasks.RepoCopy:
		return p.copied(j)
	case o == nil: // not checked
		return Start{}, nil
	case j.Repo.Kind == tasks.RepoURL:
		s, err := p.mirrored(ctx, j, o)
		return p.onto(ctx, j, o, s, err)
	case o.err != nil:
		return Start{}, unsupported(o.err)
	}
	s, err := p.local(ctx, j, o)
	return p.onto(ctx, j, o, s, err)
}

// unsupported refuses features that gitops does not support.
func unsupported(err error) error {
	var u *gitdir.UnsupportedError
	if errors.As(err, &u) {
		return &Refusal{Code: event.CodeUnsupported, Err: err}
	}
	return err
}

// copied checks a directory of which the run creates a repository.
func (p *checker) copied(j tasks.Job) (Start, error) {
	skip, err := condition(j, func(path string) (bool, error) {
		_, err := os.Lstat(filepath.Join(j.Repo.Dir, filepath.FromSlash(path)))
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
	return Start{Skip: skip}, err
}

// mirrored checks a remote repository.
func (p *checker) mirrored(ctx context.Context, j tasks.Job, o *origin) (Start, error) {
	var u *gitdir.UnsupportedError
	switch {
	case errors.As(o.err, &u):
		return Start{}, unsupported(o.err)
	case o.err != nil:
		return Start{Skip: notFetched("fetch the repository", o.err)}, nil //nolint:nilerr // the fault of its own jobs, and no refusal of the run
	}
	s := Start{Origin: o.repo, Remote: p.origins.at(j.Repo.URL)}
	if err := p.resolve(j, &s); err != nil {
		return s, err
	}
	if done, err := p.decides(ctx, j, o, &s); done || err != nil {
		return s, err
	}
	if j.Publish == tasks.PublishPatch {
		return s, nil
	}
	tip, err := p.mirroredTip(ctx, j, o, &s)
	if err != nil || s.Skip != nil || p.finishedOnRemote(j, o, &s, tip) {
		return s, err
	}
	if above := branchAbove(o.repo, j.Commit.Branch); above != "" && s.Remote.URL == j.Repo.URL {
		return s, refuse(event.CodeBranchExists, "branch name conflict: %s exists, so %s can't be created on %s", above, j.Commit.Branch, s.Remote)
	}
	s.branch = s.Remote.URL + "\x00" + j.Commit.Branch
	return s, s.take(j, branchAt{tip: tip, where: "on " + s.Remote.String(), remove: removeOnRemote(s.Remote, j.Commit.Branch), remote: true})
}

// local checks a repository on this machine.
func (p *checker) local(ctx context.Context, j tasks.Job, o *origin) (Start, error) {
	s := Start{Origin: o.repo, Below: o.below}
	if err := writable(j, o.repo, o.head); err != nil {
		return s, err
	}
	if j.Commit != nil && j.Commit.Branch == tasks.CurrentBranch && o.head.Detached {
		return s, refuse(event.CodeBase, "%s has no branch checked out (detached HEAD), so branch %s can't be used: set another branch", o.repo.Root(), tasks.CurrentBranch)
	}
	if InPlace(j, o.head) {
		if _, err := o.repo.Git.Index(); err != nil {
			return s, unsupported(fmt.Errorf("open repository %s: %w", o.repo.Root(), err))
		}
	}
	p.sparse(j, o)
	if _, reverts := p.History.Job(j.ID).Intent.(history.Revert); reverts {
		return p.reverting(ctx, j, o, s)
	}
	if InPlace(j, o.head) {
		return p.inPlace(ctx, j, o, s)
	}
	if err := p.resolve(j, &s); err != nil {
		return s, err
	}
	if dir, err := o.repo.HasDir(s.Base, s.Below); err != nil || !dir {
		return s, refuse(event.CodeBase, "%s is not a directory in commit %.10s of %s: commit it first, or work in place (commit: false)", s.Below, s.Base, o.repo.Root())
	}
	if done, err := p.decides(ctx, j, o, &s); done || err != nil || j.Publish == tasks.PublishPatch {
		return s, err
	}
	// Two worktrees of one repository share their branches.
	place := o.repo.Git.Common + "\x00" + j.Commit.Branch
	if other := p.taken[place]; other != "" {
		return s, refuse(event.CodeBranchExists, "branch %s in %s is also used by job %s", j.Commit.Branch, o.repo.Git.Common, other)
	}
	p.taken[place], s.branch = j.ID, place
	tip, _, err := o.repo.Git.Branch(j.Commit.Branch)
	if err != nil {
		return s, &Refusal{Code: event.CodeBranchExists, Err: err}
	}
	if c, found := p.committed(j, o.repo, tip); found {
		return p.afterCommit(ctx, j, o, s, c)
	}
	if p.unfinished(j, o.repo, tip) {
		s.Tip, tip = tip, ""
	}
	if found, err := p.unpushed(ctx, j, o, &s, tip); found || err != nil {
		return s, err
	}
	at := branchAt{
		tip: tip, where: "in " + o.repo.Root(), remove: "git -C " + inShell(o.repo.Root()) + " branch -D " + inShell(j.Commit.Branch),
		current: !o.head.Detached && o.head.Branch == j.Commit.Branch,
	}
	if err := s.take(j, at); err != nil || s.Skip != nil {
		return s, err
	}
	if err := p.unlocked(ctx, j, o, &s, gitdir.BranchPrefix+j.Commit.Branch); err != nil || !j.Publish.Pushes() || p.Local {
		return s, err
	}
	return p.onRemote(ctx, j, o, s)
}

// resolve resolves the commit that the job starts from: of a job that is resumed, the same
// as before.
func (p *checker) resolve(j tasks.Job, s *Start) (err error) {
	name := BaseOf(j)
	if base := p.History.Past.Job(j.ID).Base(); base != "" {
		name = base
	}
	if s.Base, err = s.Origin.Git.Resolve(name); err != nil {
		return &Refusal{Code: event.CodeBase, Err: err}
	}
	return nil
}

// decides determines whether the job is skipped, and refuses repositories whose files it
// could not commit correctly.
func (p *checker) decides(ctx context.Context, j tasks.Job, o *origin, s *Start) (done bool, err error) {
	s.Skip, err = condition(j, func(name string) (bool, error) { return o.repo.Has(s.Base, path.Join(s.Below, name)) })
	if err != nil || s.Skip != nil {
		return true, err
	}
	return false, p.filters(ctx, j, o, s.Base)
}

// condition evaluates the parts of a job's if that depend on the repository.
func condition(j tasks.Job, has func(string) (bool, error)) (*ending.Stop, error) {
	if j.If == nil {
		return nil, nil
	}
	holds, err := j.If.Holds(has)
	if err != nil {
		return nil, fmt.Errorf("evaluate the condition %s: %w", j.If, err)
	}
	if !holds {
		return &ending.Stop{Code: event.CodeCondition, Detail: fmt.Sprintf("condition is false: %s", j.If)}, nil
	}
	return nil, nil
}
