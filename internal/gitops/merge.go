package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrMerge is a merge with conflicts.
var ErrMerge = errors.New("merge conflict")

// Merge applies the difference between two commits, from and to, to a linked worktree whose
// commit is at, with the git program: a three-way merge. The error matches [ErrMerge] if it
// has conflicts, which are then marked in the files.
func Merge(ctx context.Context, r *Repo, at, from, to string) error {
	settings, ok, err := gitSettings(r.Git)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	local, err := r.Git.LocalConfig()
	switch {
	case err != nil:
		return fmt.Errorf("merge: %w", err)
	case !ok || r.Git.Env.GitProgram == "" || len(local.Subsections("merge")) > 0: // a merge driver is a command
		return errors.New("merge: the git program is missing, or can't be run safely with the configuration of the repository")
	}
	git := func(args ...string) error {
		return runGit(ctx, r.Git, r.Git.Root, slices.Concat(settings, []string{"-C", r.Git.Root, "--git-dir=" + r.Git.Own, "--work-tree=" + r.Git.Root}, args))
	}
	err = git("merge-recursive", from, "--", at, to)
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		// The index has the versions of both: it gets those of the commit again.
		return errors.Join(fmt.Errorf("%w: the changes between %.10s and %.10s can't be applied to %.10s", ErrMerge, from, to, at), git("read-tree", at))
	}
	return err
}
