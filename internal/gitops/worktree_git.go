package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// gitDeadline ends a git command that hangs, whatever the caller's context allows.
const gitDeadline = 10 * time.Minute

// switchedOff is what makes git do nothing but what it was asked for: no hooks,
// no fsmonitor, no transports, no upkeep, and an index that this package reads.
const switchedOff = "core.hooksPath=/dev/null core.fsmonitor=false core.untrackedCache=false core.splitIndex=false " +
	"core.sparseCheckout=false index.sparse=false index.skipHash=false protocol.allow=never submodule.recurse=false gc.auto=0 maintenance.auto=false"

// gitSettings returns the options under which git is run on a repository; false if its
// configuration, which anybody may have written, has what can't be switched off.
func gitSettings(git *gitdir.Dir) (args []string, ok bool, err error) {
	local, err := git.LocalConfig()
	if err != nil {
		return nil, false, err
	}
	if local.Has("include") || local.Has("includeif") || local.Has("hook") {
		return nil, false, nil
	}
	settings := strings.Fields(switchedOff)
	for _, name := range local.Subsections("filter") {
		if strings.ContainsAny(name, "=\n") {
			return nil, false, nil
		}
		for _, off := range []string{"clean=", "smudge=", "process=", "required=false"} {
			settings = append(settings, "filter."+name+"."+off)
		}
	}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args, true, nil
}

// addWithGit makes a linked worktree with the git program, without filters and
// without the configuration of user and machine.
func addWithGit(ctx context.Context, git *gitdir.Dir, settings []string, dir, commit string) error {
	if err := owner.Mkdir(filepath.Join(git.Common, "worktrees"), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return runGit(ctx, git, dir, append(slices.Clip(settings), "--git-dir="+git.Own,
		"worktree", "add", "--quiet", "--detach", "--force", "--force", "--", dir, commit))
}

// runGit runs the git program for a work tree. Its arguments start with gitSettings and
// --git-dir. TMPDIR, which these commands do not use, marks it and its children as processes
// of the run that owns the work tree's directory: they go on if that is killed.
func runGit(ctx context.Context, git *gitdir.Dir, tree string, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	cmd := gitdir.Command(ctx, git.Env.GitProgram, args...)
	cmd.Dir = git.Common
	cmd.Env = append(cmd.Env, "TMPDIR="+tree)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if ctxErr := ctx.Err(); ctxErr != nil {
		return fmt.Errorf("run git: %w", ctxErr)
	}
	if err != nil {
		text := strings.TrimSpace(output.String())
		return errors.Join(fmt.Errorf("run git: %w", err), errors.New(text))
	}
	return nil
}
