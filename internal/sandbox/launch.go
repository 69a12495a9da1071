//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox/child"
)

// ErrLost is the cause when the supervisor of a command was killed before it
// could say how the command ended. What it left behind is for Sweep.
var ErrLost = errors.New("the sandbox's supervisor was killed")

// ErrRefused is the cause when a command was not started because it could not
// be confined, or does not exist inside.
var ErrRefused = errors.New("the sandbox did not start the command")

// Launch is one command, ready to be started in a sandbox by whoever starts
// processes. The order is: start Path with the rest; call Started; wait for the
// process; call Ended. If starting fails, call Abandon instead.
type Launch struct {
	Path  string               // the program to execute
	Args  []string             // with argument zero
	Env   []string             // the whole environment
	Dir   string               // where the supervisor starts; the command starts where it was told
	Attr  *syscall.SysProcAttr // a session of its own, so a process group, too
	Files []*os.File           // become the files 3 and up

	parent  *os.File
	conn    *net.UnixConn
	serve   func(net.Listener) error
	heard   chan struct{} // closed when the supervisor will say no more
	said    string
	refused error // why nothing was started; nil if the command was
}

// Ending is how a command ended.
type Ending struct {
	ExitCode int            // -1 if a signal ended it
	Signal   syscall.Signal // 0 if none did
}

// Launch prepares a command: a program, found on the PATH of env as it is
// inside, and its arguments. HOME, TMPDIR and the variables for the proxy are
// set by the sandbox; those that name files for a CI system to read are taken
// off.
func (s *Sandbox) Launch(args, env []string, dir string) (*Launch, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket to the sandbox: %w", err)
	}
	return &Launch{
		Path:   "/proc/self/exe",
		Args:   append([]string{child.Name, dir}, args...),
		Env:    s.environment(env),
		Dir:    "/",
		Attr:   s.attributes(),
		Files:  []*os.File{s.plan, os.NewFile(uintptr(pair[1]), "control")},
		parent: os.NewFile(uintptr(pair[0]), "control"),
		serve:  s.bounds.Network.Serve,
		heard:  make(chan struct{}),
	}, nil
}

// environment adapts the environment of a command.
func (s *Sandbox) environment(env []string) []string {
	set := []string{"HOME=" + s.bounds.Home, "TMPDIR=" + s.bounds.TmpDir}
	if s.bounds.Network.Serve != nil {
		addr := fmt.Sprintf("127.0.0.1:%d", ProxyPort)
		if s.level != Full {
			addr = s.bounds.Network.Addr.String()
		}
		set = append(set, ProxyEnv(addr)...)
	}
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

// attributes says how the supervisor's process is made. It gets the
// capabilities that it needs in its own user namespace, and none elsewhere.
func (s *Sandbox) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true} // no terminal: what is put into one's input comes from the user
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(s.bounds.uid), Gid: uint32(s.bounds.gid), NoSetGroups: s.keepGroups}
	}
	if s.group != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(s.group.open.Fd())
	}
	if s.level != Full {
		return attr
	}
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	attr.UidMappings, attr.GidMappings = s.ids, s.gids
	attr.GidMappingsEnableSetgroups = len(s.gids) > 0 && !s.keepGroups
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	return attr
}

// Started tells that the process was started. From now on Kill ends it.
func (l *Launch) Started() error {
	l.Files[1].Close()
	conn, err := net.FileConn(l.parent)
	l.parent.Close() // if this fails, the supervisor sees the end of the socket, and ends
	if err != nil {
		close(l.heard)
		return fmt.Errorf("listen to the sandbox: %w", err)
	}
	l.conn = conn.(*net.UnixConn) //nolint:forcetypeassert // a socketpair is one
	go l.listen()
	return nil
}

// Kill makes the supervisor kill the command, and everything that it started,
// at once. It does not wait.
func (l *Launch) Kill() {
	if l.conn != nil {
		l.conn.CloseWrite() //nolint:errcheck // fails only if it has ended
	}
}

// Abandon gives up what the launch of a process that was never started holds.
func (l *Launch) Abandon() {
	l.Files[1].Close()
	l.parent.Close()
}

// Ended gives up what the launch holds, after the process was waited for, and
// returns how the command ended. It fails with ErrRefused and with ErrLost.
func (l *Launch) Ended() (Ending, error) {
	<-l.heard
	switch {
	case l.refused != nil:
		return Ending{}, fmt.Errorf("%w: %w", ErrRefused, l.refused)
	case l.said == "":
		return Ending{}, ErrLost
	}
	var code, sig int
	if _, err := fmt.Sscan(l.said, &code, &sig); err != nil {
		return Ending{}, fmt.Errorf("understand the sandbox's supervisor: %w", err)
	}
	if sig != 0 {
		return Ending{ExitCode: -1, Signal: syscall.Signal(sig)}, nil
	}
	return Ending{ExitCode: code}, nil
}

// listen takes what the supervisor says until it is gone, and serves the proxy
// on the socket that it hands over.
func (l *Launch) listen() {
	defer close(l.heard)
	defer l.conn.Close() //nolint:errcheck // there is nothing to lose
	buf, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := l.conn.ReadMsgUnix(buf, oob)
		if err != nil || n == 0 {
			return
		}
		switch buf[0] {
		case child.SaysExit:
			l.said = string(buf[1:n])
		case child.SaysRefused:
			l.refused = parseRefusal(string(buf[1:n]))
		case child.SaysListen:
			ln, err := received(oob[:oobn])
			if err != nil {
				l.refused = err
				return
			}
			served := make(chan struct{})
			go func() {
				defer close(served)
				l.serve(ln) //nolint:errcheck // it ends because the listener is closed
			}()
			defer func() {
				ln.Close() //nolint:errcheck // that it is closed is all that matters
				<-served
			}()
		}
	}
}

// refusal is the error of a supervisor, which was in another process.
type refusal struct {
	text  string
	errno syscall.Errno // 0 if the kernel had no part in it
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

// received makes a listener of a socket that was passed along with a message.
func received(oob []byte) (net.Listener, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("take the sandbox's socket: %w", err)
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
			return nil, fmt.Errorf("take the sandbox's socket: %w", err)
		}
		return ln, nil
	}
	return nil, errors.New("take the sandbox's socket: none was passed along")
}
