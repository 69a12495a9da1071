package scripts

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withoutNamespaces runs the program that its arguments name where the kernel
// refuses namespaces to it, as most containers do.
func withoutNamespaces() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: without-namespaces PROGRAM...")
		os.Exit(2)
	}
	runtime.LockOSThread()
	err := refuseNamespaces()
	var path string
	if err == nil {
		path, err = exec.LookPath(os.Args[1])
	}
	if err == nil {
		err = unix.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// refuseNamespaces filters the system calls that make them, for this thread and
// what it executes.
func refuseNamespaces() error {
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	unless := func(code uint16, k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, K: k, Jf: skip}
	}
	refused := stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	filter := []unix.SockFilter{
		stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0), // the call's number
		unless(unix.BPF_JEQ, unix.SYS_UNSHARE, 1), refused,
		unless(unix.BPF_JEQ, unix.SYS_CLONE3, 1), stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)),
		unless(unix.BPF_JEQ, unix.SYS_CLONE, 3),
		stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 16), // its flags
		unless(unix.BPF_JSET, unix.CLONE_NEWUSER|unix.CLONE_NEWNS, 1), refused,
		stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW),
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("refuse new privileges: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}
