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

// connectOne handles one call of connect, and returns 0 for success. It connects a
// socket on behalf of the command, only to the proxy. It copies the address before
// checking it, and connects a duplicate of the command's socket to the checked address,
// so that neither can change in between. (A filter can't read addresses, and Landlock's
// rules have only ports: they would permit all hosts that listen on the proxy's port.)
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
	// The thread's ID can't be reused while the call waits, so the copies are the
	// caller's if it is still waiting.
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

// isProxy reports whether a struct sockaddr_in is the address of the proxy.
func isProxy(addr []byte, port uint16) bool {
	return binary.NativeEndian.Uint16(addr) == unix.AF_INET && binary.BigEndian.Uint16(addr[2:]) == port && [4]byte(addr[4:8]) == [4]byte{127, 0, 0, 1}
}

// duplicate duplicates a file descriptor of another process, given the ID of one of its
// threads.
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
