//go:build linux

package child

import (
	"syscall"
	"unsafe"
)

// loopbackUp brings up the loopback interface of a network namespace, its only one.
func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed("switch on loopback", err)
	}
	defer syscall.Close(fd) //nolint:errcheck // only a handle
	lo := struct {          // struct ifreq
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{name: [syscall.IFNAMSIZ]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	if err := ioctl(fd, syscall.SIOCSIFFLAGS, unsafe.Pointer(&lo)); err != nil {
		return failed("switch on loopback", err)
	}
	return nil
}

// handListener listens on a port of the namespace's loopback and passes the socket to
// the parent. A socket belongs to the namespace in which it was created, so that the
// parent accepts the connections of the command without forwarding and without a path in
// the sandbox.
func handListener(port uint16) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed("make the proxy's socket", err)
	}
	defer syscall.Close(fd) //nolint:errcheck // only a handle
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return failed("bind the proxy's socket", err)
	}
	if err := syscall.Listen(fd, 128); err != nil {
		return failed("listen for the proxy", err)
	}
	if err := syscall.Sendmsg(ControlFile, []byte{ReportListen}, syscall.UnixRights(fd), nil, 0); err != nil {
		return failed("hand over the proxy's socket", err)
	}
	return nil
}
