package runner

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/tasks"
)

// writable finds out whether the job could record its work, or do it at all.
func writable(j tasks.Job, repo *gitops.Repo, head gitdir.Head) error {
	var dirs []string
	if j.Commit != nil {
		dirs = append(dirs, repo.Git.Common)
	}
	if inPlace(j, head) {
		dirs = append(dirs, repo.Root())
	}
	for _, dir := range dirs {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return refuse(event.CodeRepository, "%s can't be written: %w", dir, err)
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

// someOf names the first few of a list.
func someOf(list []string) string {
	if len(list) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:3], ", "), len(list)-3)
	}
	return strings.Join(list, ", ")
}
