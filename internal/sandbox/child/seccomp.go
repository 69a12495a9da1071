//go:build linux

package child

import (
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

// forbidden are system calls that are refused with EPERM whatever their
// arguments: those that reach other processes, make or enter namespaces, change
// mounts, or open much of the kernel to attacks.
func forbidden() []uint32 {
	return append([]uint32{
		linux.SYS_UNSHARE, linux.SYS_SETNS, linux.SYS_MOUNT, linux.SYS_UMOUNT2, linux.SYS_PIVOT_ROOT, linux.SYS_CHROOT,
		linux.SYS_MOVE_MOUNT, linux.SYS_OPEN_TREE, linux.SYS_OPEN_TREE_ATTR, linux.SYS_FSOPEN, linux.SYS_FSCONFIG, linux.SYS_FSMOUNT, linux.SYS_FSPICK,
		linux.SYS_MOUNT_SETATTR,
		linux.SYS_PTRACE, linux.SYS_PROCESS_VM_READV, linux.SYS_PROCESS_VM_WRITEV, linux.SYS_KCMP, linux.SYS_PIDFD_GETFD, linux.SYS_PROCESS_MADVISE,
		linux.SYS_BPF, linux.SYS_USERFAULTFD, linux.SYS_PERF_EVENT_OPEN, linux.SYS_OPEN_BY_HANDLE_AT,
		linux.SYS_KEYCTL, linux.SYS_ADD_KEY, linux.SYS_REQUEST_KEY,
		linux.SYS_KEXEC_LOAD, linux.SYS_KEXEC_FILE_LOAD, linux.SYS_INIT_MODULE, linux.SYS_FINIT_MODULE, linux.SYS_DELETE_MODULE,
		linux.SYS_REBOOT, linux.SYS_SWAPON, linux.SYS_SWAPOFF, linux.SYS_ACCT, linux.SYS_QUOTACTL, linux.SYS_QUOTACTL_FD, linux.SYS_SYSLOG,
		linux.SYS_SETTIMEOFDAY, linux.SYS_CLOCK_SETTIME, linux.SYS_CLOCK_ADJTIME, linux.SYS_SETHOSTNAME, linux.SYS_SETDOMAINNAME,
		linux.SYS_VHANGUP, linux.SYS_NFSSERVCTL, linux.SYS_LOOKUP_DCOOKIE, linux.SYS_FANOTIFY_INIT, linux.SYS_FILE_SETATTR,
		linux.SYS_MOVE_PAGES, linux.SYS_MIGRATE_PAGES,
	}, forbiddenHere()...)
}

// missing are system calls that fail with ENOSYS, as on a kernel without them, so that
// programs use alternatives. A filter can't check them, because it can't dereference
// pointers, or they circumvent it.
func missing() []uint32 {
	return []uint32{linux.SYS_CLONE3, linux.SYS_OPENAT2, linux.SYS_IO_URING_SETUP, linux.SYS_IO_URING_ENTER, linux.SYS_IO_URING_REGISTER}
}

// shared are system calls with which all processes of a user share memory, messages and
// semaphores: without a separate namespace, a command could access those of others.
// Programs handle their absence, because kernels can be built without them.
func shared() []uint32 {
	return []uint32{
		linux.SYS_SHMGET, linux.SYS_SHMAT, linux.SYS_SHMCTL, linux.SYS_MSGGET, linux.SYS_MSGSND, linux.SYS_MSGRCV, linux.SYS_MSGCTL,
		linux.SYS_SEMGET, linux.SYS_SEMOP, linux.SYS_SEMTIMEDOP, linux.SYS_SEMCTL, linux.SYS_MQ_OPEN, linux.SYS_MQ_UNLINK,
	}
}

const (
	newNamespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWCGROUP | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET
	setIDBits     = syscall.S_ISUID | syscall.S_ISGID
	makesFile     = syscall.O_CREAT | linux.O_TMPFILE&^syscall.O_DIRECTORY

	refused = linux.SECCOMP_RET_ERRNO | uint32(syscall.EPERM)
	unknown = linux.SECCOMP_RET_ERRNO | uint32(syscall.ENOSYS)
	allowed = linux.SECCOMP_RET_ALLOW
)

// Offsets in struct seccomp_data. Both architectures are little-endian, so the
// low half of an argument comes first.
const (
	callOffset = 0
	archOffset = 4
	argsOffset = 16
)

// filterSyscalls installs the filter for the thread. If the filter delegates calls to
// this process, it returns the file descriptor for their notifications; otherwise -1.
func filterSyscalls(sockets Sockets) (listener int, err error) {
	program := filter(sockets)
	f := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	set := func(flags uintptr) (int, syscall.Errno) {
		r, _, errno := syscall.Syscall(linux.SYS_SECCOMP, linux.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&f)))
		runtime.KeepAlive(program)
		return int(r), errno
	}
	if sockets != ProxyOnly && sockets != OwnSocket {
		if _, errno := set(0); errno != 0 {
			return -1, failed("filter system calls", errno)
		}
		return -1, nil
	}
	// The second flag prevents signals from interrupting a call that is being handled.
	// It requires Linux 5.19.
	listener, errno := set(linux.SECCOMP_FILTER_FLAG_NEW_LISTENER | linux.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errno == syscall.EINVAL {
		listener, errno = set(linux.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	switch {
	case errno == 0:
		return listener, nil
	case errno == syscall.EBUSY && sockets == OwnSocket:
		return filterSyscalls(IPSocket)
	case errno == syscall.EBUSY:
		return -1, failed("supervise system calls: the container manager already does: use level A, or no host list", errno)
	}
	return -1, failed("supervise system calls", errno)
}

// filter returns the BPF program: it checks the architecture, then unknown calls, then
// each listed call. Other calls are allowed.
func filter(sockets Sockets) []syscall.SockFilter {
	p := []syscall.SockFilter{
		load(archOffset),
		jump(syscall.BPF_JEQ, auditArch, 1, 0), end(unknown),
		load(callOffset),
		jump(syscall.BPF_JGE, lastCall+1, 0, 1), end(unknown), // includes the x32 ABI of x86-64
	}
	for _, nr := range missing() {
		p = append(p, on(nr, end(unknown))...)
	}
	for _, nr := range forbidden() {
		p = append(p, on(nr, end(refused))...)
	}
	for _, r := range modeRules() {
		p = append(p, r...)
	}
	p = append(p, on(linux.SYS_CLONE, refuseBits(0, newNamespaces)...)...)
	p = append(p, on(linux.SYS_IOCTL, refuseValues(1, syscall.TIOCSTI, syscall.TIOCLINUX)...)...)
	p = append(p, on(linux.SYS_OPENAT, refuseBitsIf(2, makesFile, 3, setIDBits)...)...)
	p = append(p, on(linux.SYS_PRLIMIT64, loadArg(0), jump(syscall.BPF_JEQ, 0, 1, 0), end(refused), end(allowed))...) // of others: a limit can kill
	p = append(p, socketRules(sockets)...)
	if !sockets.ownNetwork() {
		for _, nr := range shared() {
			p = append(p, on(nr, end(unknown))...)
		}
	}
	return append(p, end(allowed))
}

// modeRules prevent a command from creating set-user-ID and set-group-ID files: in a
// workspace of root, such a file would give root's privileges to every user of the
// machine.
func modeRules() [][]syscall.SockFilter {
	return append([][]syscall.SockFilter{
		on(linux.SYS_FCHMOD, refuseBits(1, setIDBits)...),
		on(linux.SYS_FCHMODAT, refuseBits(2, setIDBits)...),
		on(linux.SYS_FCHMODAT2, refuseBits(2, setIDBits)...),
		on(linux.SYS_MKNODAT, refuseBits(2, setIDBits)...),
	}, modeRulesHere()...)
}

// socketRules restricts which sockets can be created, and connected to what.
func socketRules(s Sockets) []syscall.SockFilter {
	switch s {
	case AnySocket:
		return on(linux.SYS_SOCKET, append([]syscall.SockFilter{loadArg(0)}, passFamilies(syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6)...)...)
	case OwnSocket: // unix datagrams can name a receiver in memory, which a filter can't read
		streams := append(passType(syscall.SOCK_STREAM, syscall.SOCK_SEQPACKET), end(refused))
		return slices.Concat(
			on(linux.SYS_SOCKET, slices.Concat([]syscall.SockFilter{loadArg(0), jump(syscall.BPF_JEQ, syscall.AF_UNIX, 0, uint8(len(streams)))}, streams, passFamilies(syscall.AF_INET, syscall.AF_INET6))...),
			pairRules(), on(linux.SYS_CONNECT, end(linux.SECCOMP_RET_USER_NOTIF)), on(linux.SYS_LISTEN, end(linux.SECCOMP_RET_USER_NOTIF)))
	case IPSocket:
		return append(on(linux.SYS_SOCKET, append([]syscall.SockFilter{loadArg(0)}, passFamilies(syscall.AF_INET, syscall.AF_INET6)...)...), pairRules()...)
	case ProxyOnly:
		return slices.Concat(onlyTCP(), pairRules())
	case UnixPairs:
		return slices.Concat(
			on(linux.SYS_SOCKET, slices.Concat(
				[]syscall.SockFilter{loadArg(0), jump(syscall.BPF_JEQ, syscall.AF_UNIX, 1, 0), end(refused)},
				passType(syscall.SOCK_STREAM, syscall.SOCK_SEQPACKET), []syscall.SockFilter{end(refused)},
			)...),
			on(linux.SYS_CONNECT, end(refused)), pairRules())
	}
	return on(linux.SYS_SOCKET, end(refused))
}

// passFamilies allows a call of socket if the loaded value is one of the families, or
// netlink to ask for interfaces and addresses, and refuses it otherwise.
func passFamilies(families ...uint32) []syscall.SockFilter {
	return slices.Concat(passValues(families...),
		[]syscall.SockFilter{jump(syscall.BPF_JEQ, syscall.AF_NETLINK, 1, 0), end(refused), loadArg(2)},
		passValues(syscall.NETLINK_ROUTE), []syscall.SockFilter{end(refused)})
}

// onlyTCP allows TCP sockets, and only connections that connectOne makes: no other stream
// protocol, no data sent before the connection is established, and no incoming
// connections.
func onlyTCP() []syscall.SockFilter {
	sockets := slices.Concat(
		[]syscall.SockFilter{loadArg(0), jump(syscall.BPF_JEQ, syscall.AF_INET, 2, 0), jump(syscall.BPF_JEQ, syscall.AF_INET6, 1, 0), end(refused)},
		[]syscall.SockFilter{loadArg(2), jump(syscall.BPF_JEQ, 0, 2, 0), jump(syscall.BPF_JEQ, syscall.IPPROTO_TCP, 1, 0), end(refused)},
		passType(syscall.SOCK_STREAM), []syscall.SockFilter{end(refused)})
	return slices.Concat(
		on(linux.SYS_SOCKET, sockets...),
		on(linux.SYS_CONNECT, end(linux.SECCOMP_RET_USER_NOTIF)),
		on(linux.SYS_LISTEN, end(refused)),
		on(linux.SYS_SENDTO, refuseBits(3, syscall.MSG_FASTOPEN)...),
		on(linux.SYS_SENDMSG, refuseBits(2, syscall.MSG_FASTOPEN)...),
		on(linux.SYS_SENDMMSG, refuseBits(3, syscall.MSG_FASTOPEN)...))
}

// pairRules allows socket pairs except datagram sockets, which could send to a third
// socket.
func pairRules() []syscall.SockFilter {
	return on(linux.SYS_SOCKETPAIR, append(passType(syscall.SOCK_STREAM, syscall.SOCK_SEQPACKET), end(refused))...)
}

// passType allows a call if its argument 1 is one of the socket types.
func passType(types ...uint32) []syscall.SockFilter {
	const kind = 0xf // the rest are flags
	return append([]syscall.SockFilter{loadArg(1), {Code: syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K, K: kind}}, passValues(types...)...)
}

// on runs body, which must end the program, for one system call. The number of the call
// is loaded before, and after it, because body doesn't continue here.
func on(nr uint32, body ...syscall.SockFilter) []syscall.SockFilter {
	return append([]syscall.SockFilter{jump(syscall.BPF_JEQ, nr, 0, uint8(len(body)))}, body...)
}

// passValues allows a call if the loaded value is one of the values, and continues
// otherwise.
func passValues(values ...uint32) []syscall.SockFilter {
	var p []syscall.SockFilter
	for _, v := range values {
		p = append(p, jump(syscall.BPF_JEQ, v, 0, 1), end(allowed))
	}
	return p
}

// refuseValues refuses a call if an argument is one of the values.
func refuseValues(arg int, values ...uint32) []syscall.SockFilter {
	p := []syscall.SockFilter{loadArg(arg)}
	for _, v := range values {
		p = append(p, jump(syscall.BPF_JEQ, v, 0, 1), end(refused))
	}
	return append(p, end(allowed))
}

// refuseBits refuses a call if an argument has any of the bits.
func refuseBits(arg int, bits uint32) []syscall.SockFilter {
	return []syscall.SockFilter{loadArg(arg), jump(syscall.BPF_JSET, bits, 0, 1), end(refused), end(allowed)}
}

// refuseBitsIf refuses a call if an argument has any of the bits, and another argument
// any of the other bits.
func refuseBitsIf(if0 int, others uint32, arg int, bits uint32) []syscall.SockFilter {
	return append([]syscall.SockFilter{loadArg(if0), jump(syscall.BPF_JSET, others, 1, 0), end(allowed)}, refuseBits(arg, bits)...)
}

func load(offset uint32) syscall.SockFilter {
	return syscall.SockFilter{Code: syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, K: offset}
}

func loadArg(n int) syscall.SockFilter { return load(argsOffset + uint32(8*n)) }

func jump(test uint16, k uint32, yes, no uint8) syscall.SockFilter {
	return syscall.SockFilter{Code: syscall.BPF_JMP | syscall.BPF_K | test, K: k, Jt: yes, Jf: no}
}

func end(action uint32) syscall.SockFilter {
	return syscall.SockFilter{Code: syscall.BPF_RET | syscall.BPF_K, K: action}
}
