package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Page shows a text on a terminal by a pager, a command line for sh, until the user ends
// it, which may be before the end of the text. Unlike other commands it is in the process
// group of this process: only that may read from the terminal.
func Page(ctx context.Context, pager string, env []string, terminal *os.File, text io.Reader) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", pager)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, text, terminal, terminal
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it restores the terminal
	cmd.WaitDelay = Grace
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() != 127 && exit.ExitCode() != 126 {
		return nil // that of the user's last action
	}
	if err != nil {
		return fmt.Errorf("run the pager %q: %w", pager, err)
	}
	return nil
}
