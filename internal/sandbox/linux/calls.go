//go:build linux

package linux

import (
	"syscall"
	"unsafe"
)

// CapUserHeader is the header of Capget and Capset.
type CapUserHeader struct {
	Version uint32
	Pid     int32
}

// CapUserData is a half of the capabilities of a thread.
type CapUserData struct {
	Effective   uint32
	Permitted   uint32
	Inheritable uint32
}

// LandlockRulesetAttr is struct landlock_ruleset_attr.
type LandlockRulesetAttr struct {
	Handled_access_fs  uint64
	Handled_access_net uint64
	Scoped             uint64
	Quiet_access_fs    uint64
	Quiet_access_net   uint64
	Quiet_scoped       uint64
}

// LandlockPathBeneathAttr is struct landlock_path_beneath_attr.
type LandlockPathBeneathAttr struct {
	Allowed_access uint64
	Parent_fd      int32
}

// MountAttr is struct mount_attr.
type MountAttr struct {
	Attr_set    uint64
	Attr_clr    uint64
	Propagation uint64
	Userns_fd   uint64
}

// OpenHow is struct open_how.
type OpenHow struct {
	Flags   uint64
	Mode    uint64
	Resolve uint64
}

// PollFd is struct pollfd.
type PollFd struct {
	Fd      int32
	Events  int16
	Revents int16
}

// RemoteIovec is memory of another process.
type RemoteIovec struct {
	Base uintptr
	Len  int
}

// failed returns the error of a system call.
func failed(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// opened returns the result of a system call that returns a file descriptor.
func opened(fd uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// Capget gets the capabilities of a thread; data are two elements.
func Capget(header *CapUserHeader, data *CapUserData) error {
	_, _, errno := syscall.RawSyscall(SYS_CAPGET, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(data)), 0)
	return failed(errno)
}

// Capset sets the capabilities of the calling thread; data are two elements.
func Capset(header *CapUserHeader, data *CapUserData) error {
	_, _, errno := syscall.RawSyscall(SYS_CAPSET, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(data)), 0)
	return failed(errno)
}

// CloseRange closes file descriptors, or sets a flag of theirs.
func CloseRange(first, last uint, flags int) error {
	_, _, errno := syscall.Syscall(SYS_CLOSE_RANGE, uintptr(first), uintptr(last), uintptr(flags))
	return failed(errno)
}

// Prctl controls the calling thread or process.
func Prctl(option int, arg2, arg3, arg4, arg5 uintptr) error {
	_, _, errno := syscall.RawSyscall6(SYS_PRCTL, uintptr(option), arg2, arg3, arg4, arg5, 0)
	return failed(errno)
}

// Prlimit sets and gets a resource limit of a process; both limits may be nil.
func Prlimit(pid, resource int, limit, old *syscall.Rlimit) error {
	_, _, errno := syscall.RawSyscall6(SYS_PRLIMIT64, uintptr(pid), uintptr(resource), uintptr(unsafe.Pointer(limit)), uintptr(unsafe.Pointer(old)), 0, 0)
	return failed(errno)
}

// PidfdOpen returns a file descriptor of a process.
func PidfdOpen(pid, flags int) (int, error) {
	fd, _, errno := syscall.Syscall(SYS_PIDFD_OPEN, uintptr(pid), uintptr(flags), 0)
	return opened(fd, errno)
}

// PidfdGetfd duplicates a file descriptor of a process.
func PidfdGetfd(pidfd, fd, flags int) (int, error) {
	own, _, errno := syscall.Syscall(SYS_PIDFD_GETFD, uintptr(pidfd), uintptr(fd), uintptr(flags))
	return opened(own, errno)
}

// ProcessVMReadv copies memory of a process, and returns the number of bytes.
func ProcessVMReadv(pid int, local []syscall.Iovec, remote []RemoteIovec, flags uint) (int, error) {
	n, _, errno := syscall.Syscall6(SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(unsafe.SliceData(local))), uintptr(len(local)),
		uintptr(unsafe.Pointer(unsafe.SliceData(remote))), uintptr(len(remote)), uintptr(flags))
	return int(n), failed(errno)
}

// Poll waits for events of files, at most so many milliseconds; negative ones are unlimited.
func Poll(fds []PollFd, timeout int) (int, error) {
	var limit *syscall.Timespec
	if timeout >= 0 {
		t := syscall.NsecToTimespec(int64(timeout) * 1e6)
		limit = &t
	}
	n, _, errno := syscall.Syscall6(SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)), uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	return int(n), failed(errno)
}
