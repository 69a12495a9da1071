package gitdir

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// Grace is how long a command may take to exit after SIGTERM.
const Grace = 2 * time.Second

// Command is a run of the git program in a process group of its own, which is killed
// when the context ends. It does not inherit the environment.
func Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = gitEnvironment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = Grace
	return cmd
}

// gitEnvironment is git's complete environment: nothing inherited, and no
// configuration of machine and user.
func gitEnvironment() []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_ALLOW_PROTOCOL=", // none: this wins over any protocol.NAME.allow of a repository
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
	}
}
