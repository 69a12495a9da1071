//go:build linux

package child

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notice is struct seccomp_notif: a system call that waits for an answer.
type notice struct {
	id    uint64
	pid   uint32 // of the thread
	flags uint32
	call  struct {
		nr   int32
		arch uint32
		at   uint64
		args [6]uint64
	}
}

// reply is struct seccomp_notif_resp.
type reply struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// answer answers the system calls that the filter leaves to this process, until
// nobody is left to ask. forks is nil if those that start processes aren't among
// them.
func answer(listener int, plan *Plan, forks *gate) {
	for {
		var n notice
		if err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) { // whoever asked is gone
				continue
			}
			return
		}
		r := reply{id: n.id}
		switch {
		case n.call.nr == unix.SYS_CONNECT:
			r.errno = -int32(connectOne(listener, &n, plan.ConnectPort))
		case forks.pass():
			r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		default:
			r.errno = -int32(unix.EAGAIN)
		}
		ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) //nolint:errcheck // whoever asked may be gone
	}
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
