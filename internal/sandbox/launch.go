//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox/child"
)

// ErrLost is the cause if the supervisor of a command was killed before it reported how
// the command ended. Sweep kills the remaining processes.
var ErrLost = errors.New("the sandbox's supervisor was killed")

// Launch is a command that is ready to be started in a sandbox. The caller calls Start, waits
// for the process, and calls Ended.
type Launch struct {
	box     *Sandbox
	plan    *os.File
	request *child.Request

	conn    *net.UnixConn
	over    chan struct{} // receives when the command has ended; its supervisor may still run
	heard   chan struct{} // closed after the supervisor's last message
	said    string
	refused error // why the command was not started, an ErrRefused; nil if it was
}

// ExitStatus is the exit status of a command.
type ExitStatus struct {
	ExitCode int            // -1 if it was killed by a signal
	Signal   syscall.Signal // 0 if it was not
}

// Launch prepares a command: a program, looked up inside of the sandbox in the PATH of
// env, and its arguments. The sandbox sets HOME, TMPDIR and the variables for the proxy,
// and removes the variables that name a CI system's command files. Its error is an ErrUnconfined.
func (s *Sandbox) Launch(args, env []string, dir string) (*Launch, error) {
	plan, err := s.planned()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnconfined, err)
	}
	return &Launch{box: s, plan: plan, request: &child.Request{Dir: dir, Args: args, Env: s.environment(env)}, over: make(chan struct{}, 1), heard: make(chan struct{})}, nil
}

// environment returns the environment of a command; see Launch.
func (s *Sandbox) environment(env []string) []string {
	set := []string{"HOME=" + s.bounds.Home, "TMPDIR=" + s.bounds.TmpDir}
	var addr netip.AddrPort
	if s.bounds.Network.Serve != nil {
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), ProxyPort)
		if s.level != Full {
			addr = s.bounds.Network.Addr
		}
		set = append(set, s.bounds.Network.ProxyEnv(addr)...)
	}
	set = append(set, s.bounds.Network.javaEnv(s.bounds.Home, addr, env)...)
	drop := proc.CIFiles()
	for _, kv := range set {
		name, _, _ := strings.Cut(kv, "=")
		drop = append(drop, name)
	}
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(drop, name)
	})
	return append(out, set...)
}

// attributes returns the attributes of the supervisor's process. It gets the capabilities
// that it needs in its own user namespace, and none outside of it. Control groups have no
// namespace: in one, /proc/self/cgroup would not match what is mounted at /sys/fs/cgroup, and
// runtimes that look for their limits there would find none, or fail (Java).
func (s *Sandbox) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true} // no terminal: the command could inject input with TIOCSTI
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(s.bounds.uid), Gid: uint32(s.bounds.gid), NoSetGroups: s.keepGroups}
	}
	if s.group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(s.group.open.Fd())
	}
	if s.level != Full {
		return attr
	}
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	attr.UidMappings, attr.GidMappings = s.ids, s.gids
	attr.GidMappingsEnableSetgroups = len(s.gids) > 0 && !s.keepGroups
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE}
	if len(s.bounds.Stores) > 0 { // the kernel gives the working directory of an overlay no permissions
		attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_DAC_OVERRIDE)
	}
	return attr
}

// Start starts the command, with standard input, output and error. The process that it returns
// leads a new session, and so a new process group, and ends after all processes of the command.
// From then on Kill kills it. Its errors are ErrRefused.
func (l *Launch) Start(files [3]*os.File) (*os.Process, error) {
	p, err := l.start(files)
	switch {
	case err == nil:
		return p, nil
	case l.box.group != nil && errors.Is(err, unix.EAGAIN):
		return nil, fmt.Errorf("%w: limits of the control group exceeded: %v", ErrRefused, err) //nolint:errorlint // it is not the machine's
	}
	return nil, fmt.Errorf("%w: %w", ErrUnconfined, err)
}

func (l *Launch) start(files [3]*os.File) (*os.Process, error) {
	text, err := l.request.Encode()
	if err != nil {
		return nil, fmt.Errorf("write the command for the sandbox: %w", err)
	}
	request, err := memoryFile("request", text)
	if err != nil {
		return nil, err
	}
	defer request.Close()
	send := append([]*os.File{request}, files[:]...)
	sup := l.box.takeAhead()
	if sup == nil || sup.send(send) != nil {
		sup.discard()
		if sup, err = l.box.startSupervisor(l.plan); err != nil {
			return nil, err
		}
		if err := sup.send(send); err != nil && !errors.Is(err, unix.EPIPE) { // a process that refuses to start has sent why
			sup.discard()
			return nil, fmt.Errorf("send the command to the sandbox: %w", err)
		}
	}
	sup.mounts.Close()
	l.conn = sup.conn
	go l.listen()
	return sup.process, nil
}

// Kill makes the supervisor immediately kill the command and all processes that it
// started. It does not wait.
func (l *Launch) Kill() {
	if l.conn != nil {
		l.conn.CloseWrite() //nolint:errcheck // fails only if the supervisor has exited
	}
}

// Ended releases the launch after the process was waited for, and returns the exit
// status of the command. Its errors are ErrRefused, with ErrUnconfined, and ErrLost.
func (l *Launch) Ended() (ExitStatus, error) {
	<-l.heard
	switch {
	case l.refused != nil:
		return ExitStatus{}, l.refused
	case l.said == "":
		return ExitStatus{}, ErrLost
	}
	var code, sig int
	if _, err := fmt.Sscan(l.said, &code, &sig); err != nil {
		return ExitStatus{}, fmt.Errorf("parse the message of the sandbox's supervisor: %w", err)
	}
	if sig != 0 {
		return ExitStatus{ExitCode: -1, Signal: syscall.Signal(sig)}, nil
	}
	return ExitStatus{ExitCode: code}, nil
}

// listen reads the supervisor's messages until it exits, and serves the proxy on the
// socket that it passes.
func (l *Launch) listen() {
	defer close(l.heard)
	defer l.conn.Close() //nolint:errcheck // all messages were read
	buf, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := l.conn.ReadMsgUnix(buf, oob)
		if errors.Is(err, unix.ECONNRESET) { // it exited without the request; its messages follow
			continue
		}
		if err != nil || n == 0 {
			return
		}
		switch buf[0] {
		case child.ReportExit:
			l.said = string(buf[1:n])
			select {
			case l.over <- struct{}{}:
			default: // the supervisor reports it once
			}
		case child.ReportRefused:
			l.refused = fmt.Errorf("%w: %w", ErrUnconfined, parseRefusal(string(buf[1:n])))
		case child.ReportUnable:
			l.refused = fmt.Errorf("%w: %w", ErrRefused, parseRefusal(string(buf[1:n])))
		case child.ReportListen:
			ln, err := received(oob[:oobn])
			if err != nil {
				l.refused = fmt.Errorf("%w: %w", ErrUnconfined, err)
				return
			}
			served := make(chan struct{})
			go func() {
				defer close(served)
				l.box.bounds.Network.Serve(ln) //nolint:errcheck // it ends because the listener is closed
			}()
			defer func() {
				ln.Close() //nolint:errcheck // only stops Serve
				<-served
			}()
		}
	}
}

// refusal is an error that the supervisor, another process, reported.
type refusal struct {
	text  string
	errno syscall.Errno // 0 if it was not a system call's error
}

// parseRefusal reads the message of child.SaysRefused.
func parseRefusal(message string) error {
	number, text, _ := strings.Cut(message, " ")
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return errors.New(message)
	}
	return refusal{text, syscall.Errno(n)}
}

func (r refusal) Error() string { return r.text }

// Unwrap returns the kernel's error.
func (r refusal) Unwrap() error {
	if r.errno == 0 {
		return nil
	}
	return r.errno
}

// received returns a listener on the socket that was passed with a message.
func received(oob []byte) (net.Listener, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("receive the sandbox's socket: %w", err)
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil || len(fds) != 1 {
			continue
		}
		f := os.NewFile(uintptr(fds[0]), "proxy")
		defer f.Close()
		ln, err := net.FileListener(f)
		if err != nil {
			return nil, fmt.Errorf("receive the sandbox's socket: %w", err)
		}
		return ln, nil
	}
	return nil, errors.New("receive the sandbox's socket: missing in the message")
}
