//go:build linux

package child

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// loopbackUp brings up the loopback interface of a network namespace, its only one.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("switch on loopback: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // only a handle
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("switch on loopback: %w", err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("switch on loopback: %w", err)
	}
	return nil
}

// handListener listens on a port of the namespace's loopback and passes the socket to
// the parent. A socket belongs to the namespace in which it was created, so that the
// parent accepts the connections of the command without forwarding and without a path in
// the sandbox.
func handListener(port uint16) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make the proxy's socket: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // only a handle
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return fmt.Errorf("bind the proxy's socket: %w", err)
	}
	if err := unix.Listen(fd, 128); err != nil {
		return fmt.Errorf("listen for the proxy: %w", err)
	}
	if err := unix.Sendmsg(ControlFile, []byte{ReportListen}, unix.UnixRights(fd), nil, 0); err != nil {
		return fmt.Errorf("hand over the proxy's socket: %w", err)
	}
	return nil
}
