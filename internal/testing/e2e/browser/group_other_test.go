//go:build !linux

package browser

import "syscall"

func group() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
