//go:build linux

package linux

import (
	"syscall"
	"unsafe"
)

// Openat2 opens a file.
func Openat2(dir int, name string, how *OpenHow) (int, error) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	fd, _, errno := syscall.Syscall6(SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(how)), unsafe.Sizeof(*how), 0, 0)
	return opened(fd, errno)
}

// Renameat2 renames a file.
func Renameat2(dir int, name string, toDir int, to string, flags uint) error {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	q, err := syscall.BytePtrFromString(to)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(SYS_RENAMEAT2, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(toDir), uintptr(unsafe.Pointer(q)), uintptr(flags), 0)
	return failed(errno)
}

// OpenTree opens a mount, or clones it.
func OpenTree(dir int, name string, flags uint) (int, error) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	fd, _, errno := syscall.Syscall(SYS_OPEN_TREE, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(flags))
	return opened(fd, errno)
}

// MountSetattr changes the attributes of a mount.
func MountSetattr(dir int, name string, flags uint, attr *MountAttr) error {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(SYS_MOUNT_SETATTR, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(flags), uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0)
	return failed(errno)
}

// MoveMount attaches a mount.
func MoveMount(fromDir int, from string, toDir int, to string, flags int) error {
	p, err := syscall.BytePtrFromString(from)
	if err != nil {
		return err
	}
	q, err := syscall.BytePtrFromString(to)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(SYS_MOVE_MOUNT, uintptr(fromDir), uintptr(unsafe.Pointer(p)), uintptr(toDir), uintptr(unsafe.Pointer(q)), uintptr(flags), 0)
	return failed(errno)
}

// Fsopen starts the creation of a file system.
func Fsopen(kind string, flags int) (int, error) {
	p, err := syscall.BytePtrFromString(kind)
	if err != nil {
		return -1, err
	}
	fd, _, errno := syscall.Syscall(SYS_FSOPEN, uintptr(unsafe.Pointer(p)), uintptr(flags), 0)
	return opened(fd, errno)
}

// FsconfigSetFlag sets an option without a value of a file system.
func FsconfigSetFlag(fs int, key string) error {
	const set = 0 // FSCONFIG_SET_FLAG
	p, err := syscall.BytePtrFromString(key)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(SYS_FSCONFIG, uintptr(fs), set, uintptr(unsafe.Pointer(p)), 0, 0, 0)
	return failed(errno)
}

// FsconfigSetString sets an option of a file system.
func FsconfigSetString(fs int, key, value string) error {
	const set = 1 // FSCONFIG_SET_STRING
	p, err := syscall.BytePtrFromString(key)
	if err != nil {
		return err
	}
	q, err := syscall.BytePtrFromString(value)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(SYS_FSCONFIG, uintptr(fs), set, uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(q)), 0, 0)
	return failed(errno)
}

// FsconfigCreate creates a file system.
func FsconfigCreate(fs int) error {
	const create = 6 // FSCONFIG_CMD_CREATE
	_, _, errno := syscall.Syscall6(SYS_FSCONFIG, uintptr(fs), create, 0, 0, 0, 0)
	return failed(errno)
}

// Fsmount creates a mount of a file system.
func Fsmount(fs, flags, attrs int) (int, error) {
	fd, _, errno := syscall.Syscall(SYS_FSMOUNT, uintptr(fs), uintptr(flags), uintptr(attrs))
	return opened(fd, errno)
}
