//go:build unix

package gitdir

import "syscall"

// ownGroup starts a command in a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a command with all that it has started.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
