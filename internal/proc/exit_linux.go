package proc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// waitExit blocks until the process has exited, without reaping it.
func waitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
