//go:build linux

package child

import (
	"errors"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/millhand/millhand/internal/sandbox/linux"
)

// notice is struct seccomp_notif: a system call that waits for a response.
type notice struct {
	id    uint64
	pid   uint32 // of the thread
	flags uint32
	call  struct {
		nr   int32
		arch uint32
		at   uint64
		args [6]uint64
	}
}

// reply is struct seccomp_notif_resp.
type reply struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// handler handles a call that the filter delegates to this process.
type handler func(listener int, n *notice) verdict

// verdict is the result of a call.
type verdict struct {
	errno   syscall.Errno
	carryOn bool                 // the kernel executes the call
	later   func() syscall.Errno // can take long, and returns the error instead; nil for none
}

// handler returns the handler of the calls that the plan's filter delegates.
func (p *Plan) handler() handler {
	if p.Sockets == OwnSocket {
		return newOwnSockets().handle
	}
	return func(listener int, n *notice) verdict { return connectOne(listener, n, p.ConnectPort) }
}

// respond handles delegated calls until no process with the filter exists. Its goroutine is for
// nothing else.
func respond(listener int, handle handler) {
	runtime.LockOSThread() // never unlocked: it has dropped a capability
	dropOverride()
	for arrives(listener) {
		if !respondOnce(listener, handle) {
			return
		}
	}
}

// respondOnce receives a call and handles it, and returns false if no more can be received. A call
// that can take long is handled in a goroutine.
func respondOnce(listener int, handle handler) bool {
	n := &notice{}
	if err := ioctl(listener, linux.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n)); err != nil {
		return errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.ENOENT) // the caller is gone
	}
	v := handle(listener, n)
	if v.later == nil {
		v.send(listener, n)
		return true
	}
	go func() {
		runtime.LockOSThread() // as in respond
		dropOverride()
		v.errno = v.later()
		v.send(listener, n)
	}()
	return true
}

// send ends a call.
func (v verdict) send(listener int, n *notice) {
	r := reply{id: n.id, errno: -int32(v.errno)}
	if v.carryOn {
		r.flags = linux.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	ioctl(listener, linux.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) //nolint:errcheck // the caller may be gone
}

// arrives waits for a call, and returns false if no process has the filter any more. Receiving
// does not report that, and since Linux 6.11 does not wait then either.
func arrives(listener int) bool {
	fds := []linux.PollFd{{Fd: int32(listener), Events: linux.POLLIN}}
	for {
		if _, err := linux.Poll(fds, -1); !errors.Is(err, syscall.EINTR) {
			return err == nil && fds[0].Revents&linux.POLLIN != 0
		}
	}
}

// stands reports whether the calling thread still waits for the response. Until then its
// ID is not reused, so that everything that was read from the thread is the caller's.
func (n *notice) stands(listener int) bool {
	return ioctl(listener, linux.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&n.id)) == nil
}

// read copies memory of the caller.
func (n *notice) read(at uint64, size int) ([]byte, error) {
	text := make([]byte, size)
	if size == 0 {
		return text, nil
	}
	local := []syscall.Iovec{{Base: &text[0], Len: uint64(size)}}
	got, err := linux.ProcessVMReadv(int(n.pid), local, []linux.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
	if err == nil && got != size {
		err = syscall.EFAULT
	}
	return text, err
}

// process returns the ID of the caller's process; n.pid is that of its thread.
func (n *notice) process() (int, error) {
	status, err := readFile("/proc/" + strconv.Itoa(int(n.pid)) + "/status")
	if err != nil {
		return 0, err
	}
	for rest := status; rest != ""; {
		var line string
		line, rest, _ = cut(rest, '\n')
		if name, value, _ := cut(line, '\t'); name == "Tgid:" {
			return strconv.Atoi(value)
		}
	}
	return 0, syscall.ESRCH
}

// duplicate duplicates the file descriptor that is the call's first argument.
func (n *notice) duplicate() (int, error) {
	pid, err := n.process()
	if err != nil {
		return -1, err
	}
	process, err := linux.PidfdOpen(pid, 0)
	if err != nil {
		return -1, err
	}
	defer syscall.Close(process) //nolint:errcheck // only a handle
	return linux.PidfdGetfd(process, int(int32(n.call.args[0])), 0)
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(linux.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
