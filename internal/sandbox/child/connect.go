//go:build linux

package child

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
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

// connectFor connects sockets on behalf of the command, which can't do it
// itself, and to the proxy alone, until nobody is left to ask. It copies the
// address before it judges it, and connects a duplicate of the command's socket
// to the address that it judged, so that nothing can change in between. (A
// filter doesn't see addresses, and Landlock's rules know ports only: with
// those, any host could be reached that listens on the proxy's port.)
func connectFor(listener int, port uint16) {
	for {
		var n notice
		if err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) { // whoever asked is gone
				continue
			}
			return
		}
		r := reply{id: n.id, errno: -int32(connectOne(listener, &n, port))}
		ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) //nolint:errcheck // whoever asked may be gone
	}
}

// connectOne answers one call of connect; 0 is success.
func connectOne(listener int, n *notice, port uint16) unix.Errno {
	addr := make([]byte, unix.SizeofSockaddrInet4)
	local := []unix.Iovec{{Base: &addr[0], Len: uint64(len(addr))}}
	remote := []unix.RemoteIovec{{Base: uintptr(n.call.args[1]), Len: len(addr)}}
	if n.call.args[2] < uint64(len(addr)) {
		return unix.EINVAL
	}
	if got, err := unix.ProcessVMReadv(int(n.pid), local, remote, 0); err != nil || got != len(addr) {
		return unix.EFAULT
	}
	if !isProxy(addr, port) {
		return unix.EACCES
	}
	fd, err := duplicate(int(n.pid), int(int32(n.call.args[0])))
	if err != nil {
		return unix.EBADF
	}
	defer unix.Close(fd) //nolint:errcheck // only a duplicate
	// While the call waits, the thread's number can't be another's, so what was
	// read and duplicated is the caller's if it still waits.
	if ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) != nil {
		return unix.EINTR
	}
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	errno := unix.Errno(0)
	if err != nil && !errors.As(err, &errno) {
		return unix.EACCES
	}
	return errno
}

// isProxy reports whether a struct sockaddr_in is that of the proxy.
func isProxy(addr []byte, port uint16) bool {
	return binary.NativeEndian.Uint16(addr) == unix.AF_INET && binary.BigEndian.Uint16(addr[2:]) == port && [4]byte(addr[4:8]) == [4]byte{127, 0, 0, 1}
}

// duplicate gets a file of another process, given the number of a thread of it.
func duplicate(tid, fd int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return -1, err
	}
	_, after, _ := strings.Cut(string(status), "\nTgid:")
	line, _, _ := strings.Cut(after, "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return -1, err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(process) //nolint:errcheck // only a handle
	return unix.PidfdGetfd(process, fd, 0)
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
