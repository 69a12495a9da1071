//go:build linux

package sandbox

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/sandbox/child"
)

// supervisor is a process that waits for one command, and then supervises it. Until it receives its command
// it has no files of one, and no environment except TMPDIR.
type supervisor struct {
	process *os.Process
	conn    *net.UnixConn
}

// startSupervisor starts a process.
func (s *Sandbox) startSupervisor(plan *os.File) (*supervisor, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
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
		conn.Close()
		return nil, fmt.Errorf("start the sandbox: %w", err)
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
	sup.conn.Close()
	sup.process.Kill() //nolint:errcheck // it may have exited
	sup.process.Wait() //nolint:errcheck // it has no result
}
