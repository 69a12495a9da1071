//go:build !unix

package gitdir

import (
	"os"
	"syscall"
)

// ownGroup leaves the command as it is.
func ownGroup() *syscall.SysProcAttr { return nil }

// killGroup kills a command, but not what it has started.
func killGroup(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
