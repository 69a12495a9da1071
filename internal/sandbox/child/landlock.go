//go:build linux

package child

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The file access rights of Landlock; see userspace-api/landlock in the kernel's
// documentation.
const (
	readRights   = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	deviceMaking = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	fileRights   = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	nodeRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// ResolvesUnix is the first version of the interface that can restrict connecting and
// sending to unix sockets in the file system (Linux 7.1).
const ResolvesUnix = 9

// handled returns the rights that a version of the interface supports. All of them are
// denied except by rules.
func handled(version int, sockets Sockets) unix.LandlockRulesetAttr {
	fs := uint64(unix.LANDLOCK_ACCESS_FS_REFER) - 1 // version 1: everything below
	if version >= 2 {
		fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= ResolvesUnix { // no rule has it: it doesn't apply to sockets that the command itself binds
		fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: fs}
	if version >= 4 && !sockets.ownNetwork() {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return attr
}

func (a Access) rights() uint64 {
	switch a {
	case List:
		return unix.LANDLOCK_ACCESS_FS_READ_DIR
	case Read:
		return readRights
	case Full:
		return ^uint64(deviceMaking | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX)
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
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	defer unix.Close(int(fd)) //nolint:errcheck // only a handle
	for _, r := range plan.Rules {
		if err := allow(int(fd), r, attr.Handled_access_fs); err != nil {
			return fmt.Errorf("allow %s access to %s: %w", r.Access, r.Path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("enforce the Landlock ruleset: %w", errno)
	}
	return nil
}

// allow adds a rule for a path. Missing paths are ignored, which only reduces access, and
// so are entries of directories that a symlink replaced, as updates of the system do. A
// symlink in another path is an error, as in clone.
func allow(ruleset int, r Rule, known uint64) error {
	at, err := unix.Openat2(unix.AT_FDCWD, r.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOENT) || r.Entry && errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at) //nolint:errcheck // only a handle
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	rights := r.Access.rights() & known
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(at)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
