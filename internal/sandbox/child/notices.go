//go:build linux

package child

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notice is struct seccomp_notif: a system call that waits for a response.
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

// answer handles the calls of connect, which the filter delegates to this process, until
// no process with the filter exists.
func answer(listener int, port uint16) {
	for {
		var n notice
		if err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) { // the caller is gone
				continue
			}
			return
		}
		r := reply{id: n.id, errno: -int32(connectOne(listener, &n, port))}
		ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) //nolint:errcheck // the caller may be gone
	}
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
