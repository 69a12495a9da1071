package runner

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/tasks"
)

// writable returns an error if the directories that the job writes are not writable.
func writable(j tasks.Job, repo *gitops.Repo, head gitdir.Head) error {
	var dirs []string
	if j.Commit != nil {
		dirs = append(dirs, repo.Git.Common)
	}
	if inPlace(j, head) {
		dirs = append(dirs, j.Repo.Dir)
	}
	for _, dir := range dirs {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return refuse(event.CodeRepository, "%s is not writable: %w", dir, err)
		}
	}
	return nil
}

// inPlace reports whether a job works in the repository's own tree instead of
// a linked worktree.
func inPlace(j tasks.Job, head gitdir.Head) bool {
	return j.Commit == nil || j.Commit.Branch == tasks.CurrentBranch || head.Unborn
}

func baseOf(j tasks.Job) string {
	if j.Repo.Ref != "" {
		return j.Repo.Ref
	}
	return "HEAD"
}

// status is how a directory of a work tree compares with HEAD.
type status struct {
	dirty []string // paths with uncommitted changes
	clean cleanTree
	files *state.Snapshot // keeps the listing of HEAD in use; may be nil
}

// cleanTree is a commit that a work tree was exactly at, and when. The zero value is
// no commit.
type cleanTree struct {
	commit string
	at     time.Time
	left   *state.LeftOut
}

func statusOf(ctx context.Context, repo *gitops.Repo, below string) (s status, err error) {
	found, err := repo.Status(ctx)
	if now := repo.Git.Env.Now; now != nil && found.AtHead {
		s.clean = cleanTree{found.Head, now(), found.Left}
	}
	s.dirty, s.files = inDirectory(found.Dirty, below), found.Files
	return s, err
}

func inDirectory(paths []string, below string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return !state.IsBelow(path, below) })
}

// dirtyBelow returns the paths with uncommitted changes in a directory of a work tree;
// "" is the root.
func dirtyBelow(ctx context.Context, repo *gitops.Repo, below string) ([]string, error) {
	all, err := repo.Dirty(ctx)
	return inDirectory(all, below), err
}
