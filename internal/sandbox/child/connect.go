//go:build linux

package child

import (
	"syscall"
	"unsafe"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

// connectOne handles one call of connect. It connects a
// socket on behalf of the command, only to the proxy. It copies the address before
// checking it, and connects a duplicate of the command's socket to the checked address,
// so that neither can change in between. (A filter can't read addresses, and Landlock's
// rules have only ports: they would permit all hosts that listen on the proxy's port.)
func connectOne(listener int, n *notice, port uint16) verdict {
	if n.call.args[2] < syscall.SizeofSockaddrInet4 {
		return verdict{errno: syscall.EINVAL}
	}
	addr, err := n.read(n.call.args[1], syscall.SizeofSockaddrInet4)
	if err != nil {
		return verdict{errno: syscall.EFAULT}
	}
	if !isProxy(addr, port) {
		return verdict{errno: syscall.EACCES}
	}
	fd, err := n.duplicate()
	if err != nil {
		return verdict{errno: syscall.EBADF}
	}
	return n.connect(listener, fd, addr)
}

// connect connects a duplicate of the caller's socket, and closes it and other files.
func (n *notice) connect(listener, fd int, addr []byte, others ...int) verdict {
	done := func() {
		for _, file := range append(others, fd) {
			syscall.Close(file) //nolint:errcheck // only handles
		}
	}
	if !n.stands(listener) {
		done()
		return verdict{errno: syscall.EINTR}
	}
	return verdict{later: func() syscall.Errno {
		defer done()
		return connect(fd, addr)
	}}
}

// connect connects a socket to a struct sockaddr of any kind.
func connect(fd int, addr []byte) syscall.Errno {
	_, _, errno := syscall.Syscall(linux.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(addr))), uintptr(len(addr)))
	return errno
}

// isProxy reports whether a struct sockaddr_in is the address of the proxy.
func isProxy(addr []byte, port uint16) bool {
	return family(addr) == syscall.AF_INET && uint16(addr[2])<<8|uint16(addr[3]) == port && [4]byte(addr[4:8]) == [4]byte{127, 0, 0, 1}
}

// family returns the address family of a struct sockaddr.
func family(addr []byte) uint16 { return uint16(addr[0]) | uint16(addr[1])<<8 }
