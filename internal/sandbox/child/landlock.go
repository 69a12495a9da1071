//go:build linux

package child

import (
	"errors"
	"syscall"
	"unsafe"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

// The file access rights of Landlock; see userspace-api/landlock in the kernel's
// documentation.
const (
	readRights   = linux.LANDLOCK_ACCESS_FS_EXECUTE | linux.LANDLOCK_ACCESS_FS_READ_FILE | linux.LANDLOCK_ACCESS_FS_READ_DIR
	deviceMaking = linux.LANDLOCK_ACCESS_FS_MAKE_CHAR | linux.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	fileRights   = linux.LANDLOCK_ACCESS_FS_EXECUTE | linux.LANDLOCK_ACCESS_FS_READ_FILE | linux.LANDLOCK_ACCESS_FS_WRITE_FILE |
		linux.LANDLOCK_ACCESS_FS_TRUNCATE | linux.LANDLOCK_ACCESS_FS_IOCTL_DEV
	nodeRights = linux.LANDLOCK_ACCESS_FS_READ_FILE | linux.LANDLOCK_ACCESS_FS_WRITE_FILE | linux.LANDLOCK_ACCESS_FS_READ_DIR |
		linux.LANDLOCK_ACCESS_FS_TRUNCATE | linux.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// ResolvesUnix is the first version of the interface that can restrict connecting and
// sending to unix sockets in the file system (Linux 7.1).
const ResolvesUnix = 9

// handled returns the rights that a version of the interface supports. All of them are
// denied except by rules.
func handled(version int, sockets Sockets) linux.LandlockRulesetAttr {
	fs := uint64(linux.LANDLOCK_ACCESS_FS_REFER) - 1 // version 1: everything below
	if version >= 2 {
		fs |= linux.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		fs |= linux.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		fs |= linux.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= ResolvesUnix { // no rule has it: it doesn't apply to sockets that the command itself binds
		fs |= linux.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	attr := linux.LandlockRulesetAttr{Handled_access_fs: fs}
	if version >= 4 && !sockets.ownNetwork() {
		attr.Handled_access_net = linux.LANDLOCK_ACCESS_NET_BIND_TCP | linux.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 6 {
		attr.Scoped = linux.LANDLOCK_SCOPE_SIGNAL | linux.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return attr
}

func (a Access) rights() uint64 {
	switch a {
	case List:
		return linux.LANDLOCK_ACCESS_FS_READ_DIR
	case Read:
		return readRights
	case Full:
		return ^uint64(deviceMaking | linux.LANDLOCK_ACCESS_FS_RESOLVE_UNIX)
	case Node:
		return nodeRights
	}
	return 0
}

// landlock confines the thread to the rules of a plan.
func landlock(plan *Plan) error {
	attr := handled(plan.Landlock, plan.Sockets)
	size := unsafe.Sizeof(attr.Handled_access_fs)
	switch {
	case plan.Landlock >= 6:
		size = unsafe.Offsetof(attr.Quiet_access_fs)
	case plan.Landlock >= 4:
		size = unsafe.Offsetof(attr.Scoped)
	}
	fd, _, errno := syscall.Syscall(linux.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return failed("create a Landlock ruleset", errno)
	}
	defer syscall.Close(int(fd)) //nolint:errcheck // only a handle
	for _, r := range plan.Rules {
		if err := allow(int(fd), r, attr.Handled_access_fs); err != nil {
			return failed("allow "+string(r.Access)+" access to "+r.Path, err)
		}
	}
	if _, _, errno := syscall.Syscall(linux.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return failed("enforce the Landlock ruleset", errno)
	}
	return nil
}

// allow adds a rule for a path. Missing paths are ignored, which only reduces access, and
// so are entries of directories that a symlink replaced, as updates of the system do. A
// symlink in another path is an error, as in clone.
func allow(ruleset int, r Rule, known uint64) error {
	at, err := linux.Openat2(linux.AT_FDCWD, r.Path, &linux.OpenHow{Flags: linux.O_PATH | syscall.O_CLOEXEC, Resolve: linux.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, syscall.ENOENT) || r.Entry && errors.Is(err, syscall.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer syscall.Close(at) //nolint:errcheck // only a handle
	attr := linux.LandlockPathBeneathAttr{Allowed_access: r.Access.rights() & known, Parent_fd: int32(at)}
	if r.File {
		attr.Allowed_access &= fileRights
	}
	errno := addRule(ruleset, &attr)
	if errno == syscall.EINVAL && !r.File { // not a directory
		attr.Allowed_access &= fileRights
		errno = addRule(ruleset, &attr)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

func addRule(ruleset int, attr *linux.LandlockPathBeneathAttr) syscall.Errno {
	_, _, errno := syscall.Syscall6(linux.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), linux.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(attr)), 0, 0, 0)
	return errno
}
