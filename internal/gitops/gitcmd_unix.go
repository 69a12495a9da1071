//go:build unix

package gitops

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own and kills all of it when
// the command's context ends.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
