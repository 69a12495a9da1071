//go:build linux

package child

import (
	"errors"
	"syscall"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

// confineThread restricts the calling thread; the processes that it starts inherit the
// restrictions. The other threads are not restricted, and the command can't access them:
// Landlock, the filter, their additional capabilities, and that the process is not
// dumpable each prevent reading or tracing them. For the returned file descriptor see
// filterSyscalls.
func confineThread(plan *Plan) (listener int, err error) {
	dropBounding()
	if err := linux.Prctl(linux.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, failed("set no_new_privs", err)
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

// dropBounding prevents executables from regaining capabilities. It fails only for
// processes without capabilities to regain.
func dropBounding() {
	for c := range uintptr(64) {
		if errors.Is(linux.Prctl(syscall.PR_CAPBSET_DROP, c, 0, 0, 0), syscall.EINVAL) {
			break // the kernel has no more
		}
	}
	linux.Prctl(linux.PR_CAP_AMBIENT, linux.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) //nolint:errcheck // dropped with the permitted ones anyway
}

// dropCapabilities drops all capabilities.
func dropCapabilities() error {
	header := linux.CapUserHeader{Version: linux.LINUX_CAPABILITY_VERSION_3}
	var none [2]linux.CapUserData
	if err := linux.Capset(&header, &none[0]); err != nil {
		return failed("drop capabilities", err)
	}
	return nil
}

// dropOverride drops the calling thread's capability to ignore the permissions of files,
// which the supervisor has only for the working directories of overlays.
func dropOverride() {
	header := linux.CapUserHeader{Version: linux.LINUX_CAPABILITY_VERSION_3}
	var caps [2]linux.CapUserData
	if linux.Capget(&header, &caps[0]) != nil || syscall.Geteuid() == 0 { // root needs none
		return
	}
	for _, set := range []*uint32{&caps[0].Effective, &caps[0].Permitted, &caps[0].Inheritable} {
		*set &^= 1 << linux.CAP_DAC_OVERRIDE
	}
	linux.Capset(&header, &caps[0]) //nolint:errcheck // dropping is always permitted
}
