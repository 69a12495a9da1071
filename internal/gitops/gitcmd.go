package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// gitDeadline ends a git command that hangs, whatever the caller's context says.
const gitDeadline = 10 * time.Minute

// switchedOff is what makes git do nothing but what it was asked for: no hooks,
// no fsmonitor, no transports, no upkeep, and an index that this package reads.
const switchedOff = "core.hooksPath=/dev/null core.fsmonitor=false core.untrackedCache=false core.splitIndex=false " +
	"index.sparse=false index.skipHash=false protocol.allow=never submodule.recurse=false gc.auto=0 maintenance.auto=false"

// gitSettings returns the options under which git is run on this repository; false if its
// configuration, which anybody may have written, has what can't be switched off.
func (r *Repo) gitSettings() (args []string, ok bool, err error) {
	local, err := readConfigFile(filepath.Join(r.commonDir, "config"))
	if err != nil {
		return nil, false, err
	}
	if local.has("include") || local.has("includeif") || local.has("hook") {
		return nil, false, nil
	}
	settings := strings.Fields(switchedOff)
	for _, name := range local.subsections("filter") {
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
func (r *Repo) addWithGit(ctx context.Context, settings []string, dir, commit string) error {
	args := append(slices.Clip(settings), "--git-dir="+r.commonDir,
		"worktree", "add", "--quiet", "--detach", "--force", "--force", "--", dir, commit)
	return r.runGit(ctx, args)
}

// runGit runs the git program without input and in a process group of its own,
// which is killed when the context ends.
func (r *Repo) runGit(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, gitDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.env.GitProgram, args...)
	cmd.Dir = r.commonDir
	cmd.Env = gitEnvironment()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if ctxErr := ctx.Err(); ctxErr != nil {
		return fmt.Errorf("git worktree add: %w", ctxErr)
	}
	if err != nil {
		text := strings.TrimSpace(output.String())
		return errors.Join(fmt.Errorf("git worktree add: %w", err), errors.New(text))
	}
	return nil
}

// gitEnvironment is all that git gets of an environment: none of ours, and no
// configuration of machine and user.
func gitEnvironment() []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
	}
}
