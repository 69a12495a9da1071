package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/tasks"
)

// Check looks at every repository of a plan, before anything runs or is
// spent, and returns all that is wrong, joined: what is not a repository or
// not supported, a revision that does not exist, a branch that does, a dirty
// tree that would be worked on in place.
func Check(ctx context.Context, plan *tasks.Plan, env gitops.Env) error {
	var errs []error
	for _, j := range plan.Jobs {
		if j.Repo.Kind != tasks.RepoPath {
			continue // made by the run itself from a folder that the manifest's check has seen
		}
		if err := checkJob(ctx, plan, j, env); err != nil {
			errs = append(errs, fmt.Errorf("job %s: %w", j.ID, err))
		}
	}
	return errors.Join(errs...)
}

func checkJob(ctx context.Context, plan *tasks.Plan, j tasks.Job, env gitops.Env) error {
	repo, err := gitops.Open(j.Repo.Dir, env)
	if err != nil {
		return err
	}
	head, err := repo.Head()
	if err != nil {
		return err
	}
	if err := writable(j, repo, head); err != nil {
		return err
	}
	if j.Commit != nil && j.Commit.Branch == tasks.CurrentBranch && head.Detached {
		return fmt.Errorf("%s has no branch checked out (its HEAD is detached), so branch %s can't be used: name a branch", repo.Root(), tasks.CurrentBranch)
	}
	if inPlace(j, head) {
		return checkInPlace(ctx, plan, j, repo, head)
	}
	if _, err := repo.Resolve(baseOf(j)); err != nil {
		return err
	}
	if _, exists, err := repo.BranchHash(j.Commit.Branch); err != nil {
		return err
	} else if exists {
		return fmt.Errorf("branch %s exists already in %s: delete it, or set commit.branch to another name", j.Commit.Branch, repo.Root())
	}
	return nil
}

// writable finds out whether the job could record its work, or do it at all.
func writable(j tasks.Job, repo *gitops.Repo, head gitops.Head) error {
	var dirs []string
	if j.Commit != nil {
		dirs = append(dirs, repo.CommonDir())
	}
	if inPlace(j, head) {
		dirs = append(dirs, repo.Root())
	}
	for _, dir := range dirs {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return fmt.Errorf("%s can't be written: %w", dir, err)
		}
	}
	return nil
}

// checkInPlace refuses a tree that is dirty, since a job's changes could not
// be told from the user's by eye, unless the manifest allows it.
func checkInPlace(ctx context.Context, plan *tasks.Plan, j tasks.Job, repo *gitops.Repo, head gitops.Head) error {
	if j.Repo.Ref != "" && !head.Unborn {
		return fmt.Errorf("%s is worked on in place, so ref %s can't be used: leave it out, or commit to a branch of its own", repo.Root(), j.Repo.Ref)
	}
	if what := repo.Unfinished(); what != "" {
		return fmt.Errorf("%s is in the middle of a %s: finish or abort it first", repo.Root(), what)
	}
	if plan.AllowDirty {
		return nil
	}
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return err
	}
	if len(dirty) > 0 && !head.Unborn {
		return fmt.Errorf("%s would be worked on in place but has uncommitted changes (%s): commit or stash them, or set allow_dirty: true", repo.Root(), some(dirty))
	}
	return nil
}

// inPlace reports whether a job works in the repository's own tree instead of
// a linked worktree.
func inPlace(j tasks.Job, head gitops.Head) bool {
	return j.Commit == nil || j.Commit.Branch == tasks.CurrentBranch || head.Unborn
}

func baseOf(j tasks.Job) string {
	if j.Repo.Ref != "" {
		return j.Repo.Ref
	}
	return "HEAD"
}

// some names the first few of a list.
func some(list []string) string {
	if len(list) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:3], ", "), len(list)-3)
	}
	return strings.Join(list, ", ")
}
