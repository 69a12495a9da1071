//go:build linux

package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/sandbox/child"
)

// supervisor is a process that waits for one command, and then supervises it.
//
// The start of a process needs more time than its sandbox. Therefore the one for the
// next command of a session is started when a command has ended, while the model responds. Until it
// receives its command it has no files of one, and no environment except TMPDIR. It exits when its
// socket is closed, also because this process was killed. Of the machine's state it has only the
// mounts of its start: if they have changed, it is not used.
type supervisor struct {
	process *os.Process
	conn    *net.UnixConn
	mounts  *os.File // the mounts of this process, opened before the start; nil if they need not be compared
}

// startSupervisor starts a process.
func (s *Sandbox) startSupervisor(plan *os.File) (*supervisor, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("create a socket to the sandbox: %w", err)
	}
	own, other := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer own.Close()
	defer other.Close()
	conn, err := net.FileConn(own)
	if err != nil {
		return nil, fmt.Errorf("listen to the sandbox: %w", err)
	}
	sup := &supervisor{conn: conn.(*net.UnixConn)} //nolint:forcetypeassert // a socketpair is one
	sup.process, err = os.StartProcess(cmp.Or(s.bounds.Program, "/proc/self/exe"), []string{child.Name}, &os.ProcAttr{
		Dir: "/", Env: []string{"TMPDIR=" + s.bounds.TmpDir, "GOMAXPROCS=2"}, Files: []*os.File{null, null, null, plan, other}, Sys: s.attributes(),
	})
	if err != nil {
		conn.Close() //nolint:errcheck // nothing was sent
		if s.bounds.other() && errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("commands run as user %d, the owner of the workspace, and can't execute millhand: chmod o+rx its file: %w", s.bounds.uid, err)
		}
		return nil, err // callers say what they start
	}
	return sup, nil
}

// send sends a request; see child.Request.
func (sup *supervisor) send(files []*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	_, _, err := sup.conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil)
	runtime.KeepAlive(files)
	return err
}

// discard kills the process, which has no command.
func (sup *supervisor) discard() {
	if sup == nil {
		return
	}
	sup.mounts.Close()
	sup.conn.Close()   //nolint:errcheck // nothing was sent
	sup.process.Kill() //nolint:errcheck // it may have exited
	sup.process.Wait() //nolint:errcheck // it has no result
}

// current reports whether the mounts of this process have not changed since the start.
func (sup *supervisor) current() bool {
	if sup.mounts == nil {
		return true
	}
	fds := []unix.PollFd{{Fd: int32(sup.mounts.Fd()), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 0
}

// StartAhead starts the process for the next command, concurrently, after a command has ended. The
// next command, or Close, waits for it.
func (s *Sandbox) StartAhead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ahead != nil || s.plan == nil {
		return
	}
	next := make(chan *supervisor, 1)
	s.ahead = next
	plan := s.plan
	go func() { next <- s.startEarly(plan) }()
}

// startEarly starts a process that is used later. It returns nil if that fails: the next command
// starts a process itself, and reports the error.
func (s *Sandbox) startEarly(plan *os.File) *supervisor {
	var mounts *os.File
	if s.level == Full {
		fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		mounts = os.NewFile(uintptr(fd), "mounts") // not known to the runtime's poller, which would consume the event
	}
	sup, err := s.startSupervisor(plan)
	if err != nil {
		mounts.Close()
		return nil
	}
	sup.mounts = mounts
	return sup
}

// takeAhead returns the process that was started for the next command; nil if none can be used.
func (s *Sandbox) takeAhead() *supervisor {
	s.mu.Lock()
	next := s.ahead
	s.ahead = nil
	s.mu.Unlock()
	if next == nil {
		return nil
	}
	sup := <-next
	if sup != nil && !sup.current() {
		sup.discard()
		return nil
	}
	return sup
}
