package browser

import "syscall"

// group makes the browser the leader of a process group, and ends it with this process, also if that panics.
func group() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
