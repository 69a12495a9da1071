//go:build darwin || freebsd

package proc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// waitExit blocks until the process has exited, without reaping it. The waitid of
// macOS also returns for a process that was stopped, so a kqueue is used.
func waitExit(pid int) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return err
	}
	defer unix.Close(queue) //nolint:errcheck // nothing is lost
	var exit unix.Kevent_t
	unix.SetKevent(&exit, pid, unix.EVFILT_PROC, unix.EV_ADD)
	exit.Fflags = unix.NOTE_EXIT
	for {
		n, err := unix.Kevent(queue, []unix.Kevent_t{exit}, make([]unix.Kevent_t, 1), nil)
		switch {
		case errors.Is(err, unix.ESRCH): // it has exited already
			return nil
		case err == nil && n > 0:
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return err
		}
	}
}
