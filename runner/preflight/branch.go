package preflight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/tasks"
)

// branchAt is a job's branch in a repository where it may already exist.
type branchAt struct {
	tip    string // commit, whose objects are in the job's origin; "" for no such branch
	where  string // for messages, for example "on URL"
	remove string // command that deletes it
	remote bool
	// current is whether it is checked out.
	current bool
}

// inShell returns a word of a command line.
func inShell(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@+=") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// removeOnRemote returns the command that deletes a branch on a remote.
func removeOnRemote(r remote.Repo, branch string) string {
	return "git push " + inShell(r.String()) + " --delete " + inShell(branch)
}

// take applies commit.if_exists to a branch that exists: the run is refused, the job is
// skipped, or it appends to the branch or replaces it. The latter two require that
// millhand made the branch.
func (s *Start) take(j tasks.Job, b branchAt) error {
	s.Target = s.Base
	if b.tip == "" {
		return nil
	}
	switch j.Commit.IfExists {
	case tasks.SkipIfExists:
		s.Skip = &ending.Stop{
			Code:   event.CodeBranchExists,
			Detail: fmt.Sprintf("branch %s already exists %s", j.Commit.Branch, b.where),
		}
		return nil
	case tasks.ReplaceIfExists, tasks.AppendIfExists:
	default:
		fix := "choose another commit.branch, or set commit.if_exists"
		switch {
		case b.current:
			fix = "choose another commit.branch, or @current to commit on this one, which is checked out"
		case strings.HasPrefix(j.Commit.Branch, tasks.BranchPrefix) && landing.Ours(s.Origin, b.tip) == nil: // nothing of the user is lost
			fix = "delete it (" + b.remove + "), " + fix
		}
		return refuse(event.CodeBranchExists, "branch %s already exists %s: %s", j.Commit.Branch, b.where, fix)
	}
	if err := landing.Ours(s.Origin, b.tip); err != nil && !j.Commit.OnPull() {
		return refuse(event.CodeBranchForeign, "branch %s %s can't be changed: %w", j.Commit.Branch, b.where, err)
	}
	if j.Commit.OnPull() { // an older commit of the branch is that of an earlier run
		if line, err := s.Origin.FirstParents(s.Base, maxBehindBase); err != nil || !slices.Contains(line, b.tip) {
			return refuse(event.CodeBranchForeign, "branch %s %s is at %.10s, which is no commit of the pull request: push it, or delete it (%s)", j.Commit.Branch, b.where, b.tip, b.remove)
		}
		if !b.remote {
			s.Tip = b.tip
		}
		return nil
	}
	if b.remote {
		s.Lease = b.tip
	} else {
		s.Tip = b.tip
	}
	if j.Commit.IfExists == tasks.AppendIfExists {
		s.Base = b.tip
	}
	return nil
}

// unlocked refuses a job whose commit would fail because of a lock file of git, which
// most likely a killed process has left. Locks that killed runs have left on the job's branch are
// removed: now if it was this run, or by removeLocks.
func (p *checker) unlocked(ctx context.Context, j tasks.Job, o *origin, s *Start, branch string, files ...string) error {
	git := o.repo.Git
	if commit := git.LockedFor(branch); commit != "" {
		if _, ours := p.madeIn(j, o.repo, commit); ours { // by a process that was killed: this one holds the run's lock
			if err := p.removeLock(git.LockOf(branch)); err != nil {
				return err
			}
		}
	}
	if err := waitUnlocked(ctx, git, files...); err != nil {
		return err
	}
	err := waitUnlocked(ctx, git, branchFile(git, branch))
	if commit := git.LockedFor(branch); err != nil && p.Reserve != "" && commit != "" && landing.Ours(o.repo, commit) == nil {
		s.locked, err = branch, nil
	}
	return err
}

func waitUnlocked(ctx context.Context, git *gitdir.Dir, files ...string) error {
	err := gitdir.WaitUnlocked(ctx, git.Env, files...)
	if errors.Is(err, gitdir.ErrConflict) {
		return refuse(event.CodeRepository, "%w; if no git process is running there, remove the file", err)
	}
	return err
}

// removeLocks removes locks that killed runs have left on branches. The branches are reserved, so
// no other run is about to move them.
func (p *checker) removeLocks(ctx context.Context, ready *Result) (refused []error) {
	for _, j := range p.plan.Jobs {
		s := ready.Starts[j.ID]
		if s.locked == "" || s.Skip != nil {
			continue
		}
		var err error
		if ready.reserved != nil {
			err = p.removeLock(s.Origin.Git.LockOf(s.locked))
		} else {
			err = waitUnlocked(ctx, s.Origin.Git, branchFile(s.Origin.Git, s.locked))
		}
		if err != nil {
			refused = append(refused, &Refusal{Job: j.ID, Code: event.CodeRepository, Err: err})
		}
	}
	return refused
}

// removeStale removes the incomplete objects that killed runs have left in the repositories of
// this machine.
func (p *checker) removeStale() {
	for _, o := range p.origins.all {
		if o.repo != nil {
			objectdb.RemoveStale(o.repo.Git.Objects.Dir)
		}
	}
}

func (p *checker) removeLock(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the lock that a killed run has left: %w", err)
	}
	p.warn(fmt.Sprintf("removed %s, which a killed run has left", file))
	return nil
}

// branchFile returns the file of a branch, which is given with refs/heads/.
func branchFile(git *gitdir.Dir, branch string) string {
	return filepath.Join(git.Common, filepath.FromSlash(branch))
}

// fetchedTip returns the commit of a remote's branch in a mirror; "" if it does not
// exist.
func fetchedTip(mirror *gitops.Repo, branch string) string {
	tip, err := mirror.Git.Resolve("refs/remotes/origin/" + branch)
	if err != nil {
		return ""
	}
	return tip
}

// branchAbove returns a branch of the remote whose name is a parent directory of a
// branch's name, which git does not allow; "" if none exists.
func branchAbove(mirror *gitops.Repo, branch string) string {
	for i, c := range branch {
		if c == '/' && fetchedTip(mirror, branch[:i]) != "" {
			return branch[:i]
		}
	}
	return ""
}

// onRemote checks the branch on the remote that a path repository pushes to.
func (p *checker) onRemote(ctx context.Context, j tasks.Job, o *origin, s Start) (Start, error) {
	var branches map[string]string
	var err error
	if s.Remote, branches, err = p.remote(ctx, j, o); err != nil {
		s.Skip, err = cannotAsk(err)
		return s, err
	}
	b := branchAt{tip: branches[j.Commit.Branch], where: "on " + s.Remote.String(), remove: removeOnRemote(s.Remote, j.Commit.Branch), remote: true}
	if b.tip != "" && (j.Commit.IfExists == tasks.ReplaceIfExists || j.Commit.IfExists == tasks.AppendIfExists) {
		ctx, cancel := context.WithTimeoutCause(ctx, remote.FetchTimeout, fmt.Errorf("timed out after %s", remote.FetchTimeout))
		defer cancel()
		if b.tip, err = remote.Fetch(ctx, o.repo.Git, s.Remote, j.Commit.Branch); err != nil {
			s.Skip, err = cannotAsk(err)
			return s, err
		}
	}
	return s, s.take(j, b)
}

// cannotAsk converts the error of an unreachable remote to a stop of the job that needs
// it. Refusals stay errors.
func cannotAsk(err error) (*ending.Stop, error) {
	var r *Refusal
	if errors.As(err, &r) {
		return nil, err
	}
	return notFetched("list the branches of the remote", err), nil
}
