package preflight

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
	if InPlace(j, head) {
		dirs = append(dirs, j.Repo.Dir)
	}
	for _, dir := range dirs {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return refuse(event.CodeRepository, "%s is not writable: %w", dir, err)
		}
	}
	return nil
}

// InPlace reports whether a job works in the repository's own tree instead of
// a linked worktree.
func InPlace(j tasks.Job, head gitdir.Head) bool {
	return j.Commit == nil || j.Commit.Branch == tasks.CurrentBranch || head.Unborn
}

// BaseOf returns the name that the base commit of a job is resolved from.
func BaseOf(j tasks.Job) string {
	if j.Repo.Ref != "" {
		return j.Repo.Ref
	}
	return "HEAD"
}

// Status is how a directory of a work tree compares with HEAD.
type Status struct {
	Dirty []string // paths with uncommitted changes
	Clean CleanTree
	files *state.Snapshot // keeps the listing of HEAD in use; may be nil
}

// CleanTree is a commit that a work tree was exactly at, and when. The zero value is
// no commit.
type CleanTree struct {
	Commit string
	At     time.Time
	Left   *state.LeftOut
}

// StatusOf compares a directory of a work tree with HEAD; "" is the root.
func StatusOf(ctx context.Context, repo *gitops.Repo, below string) (s Status, err error) {
	found, err := repo.Status(ctx)
	if now := repo.Git.Env.Now; now != nil && found.AtHead {
		s.Clean = CleanTree{found.Head, now(), found.Left}
	}
	s.Dirty, s.files = inDirectory(found.Dirty, below), found.Files
	return s, err
}

func inDirectory(paths []string, below string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return !state.IsBelow(path, below) })
}

// DirtyBelow returns the paths with uncommitted changes in a directory of a work tree;
// "" is the root.
func DirtyBelow(ctx context.Context, repo *gitops.Repo, below string) ([]string, error) {
	all, err := repo.Dirty(ctx)
	return inDirectory(all, below), err
}
