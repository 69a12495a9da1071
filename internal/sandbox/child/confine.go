//go:build linux

package child

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// confineThread takes everything from the calling thread that the command must
// not have; what the thread starts inherits that. The other threads keep it, and
// are out of the command's reach: Landlock, the filter, the capabilities that
// they have more, and that the process isn't dumpable, each forbid to look into
// them or to trace them. For the file that it returns see filterSyscalls.
func confineThread(plan *Plan) (listener int, err error) {
	dropBounding()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("give up new privileges: %w", err)
	}
	if plan.Landlock > 0 {
		if err := landlock(plan); err != nil {
			return -1, err
		}
	}
	if err := dropCapabilities(); err != nil {
		return -1, err
	}
	return filterSyscalls(plan.Sockets)
}

// dropBounding keeps executables from bringing capabilities back. Whoever may
// not do it has none that could come back.
func dropBounding() {
	for c := range uintptr(64) {
		unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) //nolint:errcheck // see above
	}
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) //nolint:errcheck // gone with the permitted ones anyway
}

// dropCapabilities gives up every capability.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	return nil
}
