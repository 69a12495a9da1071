package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/files/diskusage"
)

// Grace is the time between SIGTERM and SIGKILL for a process group.
const Grace = 2 * time.Second

// drain is how long output is still read after the last process of the group
// was killed: only a process that left the group can hold the pipe longer.
const drain = 250 * time.Millisecond

// Command is a program to run.
type Command struct {
	Args    []string // program, looked up in the PATH of Env, and arguments
	Dir     string
	Env     []string      // complete environment, as NAME=value
	Timeout time.Duration // 0: only the context's deadline
	Grace   time.Duration // between SIGTERM and SIGKILL; 0 is [Grace]
	Output  io.Writer     // receives stdout and stderr in order of arrival; called by one goroutine
	Stdin   *os.File      // its standard input; nil: empty
	Stdout  *os.File      // gets the standard output; nil: Output does
	Stderr  *os.File      // gets the standard error; nil: Output does
	Confine Confine       // nil: no sandbox
	// Disk is measured while the command runs. Its error kills the command and is returned by Run. nil: no limit.
	Disk *diskusage.Monitor
	// Explain is called with the error of a service that could not be started, or did not start its
	// program, and returns it, possibly with more. May be nil.
	Explain func(error) error
}

// Confine prepares a command to start in a sandbox.
type Confine func(args, env []string, dir string) (*Confined, error)

// Confined is a command prepared to start in a sandbox through a helper
// program.
type Confined struct {
	// Start starts it, with standard input, output and error, as the leader of a new process
	// group. The process has ended when all of its descendants have.
	Start func(files [3]*os.File) (*os.Process, error)
	Kill  func()                 // kills it and all its descendants
	Ended func() (Result, error) // called after the process was waited for; returns how the command ended
}

// Result describes how a command ended.
type Result struct {
	ExitCode int            // -1 if killed by a signal
	Signal   syscall.Signal // 0 for none
	TimedOut bool           // the timeout expired and the group was killed
	Note     string         // what the sandbox denied, for readers of the output; "" for nothing
}

// Run runs a command and waits for it. A failing command is a Result; an error
// means that it could not be started, or that ctx was canceled. It is a [MachineError]
// if the machine refused to start it.
func Run(ctx context.Context, c Command) (Result, error) { return run(ctx, c, func() {}) }

// run is Run; it calls started after the start.
func run(ctx context.Context, c Command, started func()) (Result, error) {
	var r *os.File
	var leader *os.Process
	var inside *Confined
	err := patiently(ctx, func() error {
		out, in, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("create pipe for %s: %w", c.Args[0], err)
		}
		defer in.Close()
		if leader, inside, err = start(c, in); err != nil {
			out.Close()
			return err
		}
		r = out
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	defer r.Close()
	started()

	copied := make(chan struct{})
	go func() {
		defer close(copied)
		if _, err := io.Copy(c.Output, r); errors.Is(err, os.ErrDeadlineExceeded) {
			rest(c.Output, r)
		}
	}()
	exited := make(chan struct{})
	var exitErr error // once exited is closed
	go func() {
		defer close(exited)
		exitErr = waitExit(leader.Pid)
	}()

	disk := c.measure(ctx)
	timedOut := c.await(ctx, leader.Pid, exited, disk.failed, inside.Kill)
	// The leader has exited but is not reaped yet, so its group id can't be
	// reused.
	signal(leader.Pid, syscall.SIGKILL)
	state, waitErr := leader.Wait()
	diskErr := disk.end()
	closing := time.AfterFunc(drain, func() { r.SetReadDeadline(time.Unix(1, 0)) }) //nolint:errcheck // pipes have deadlines; this one is long over
	defer closing.Stop()
	<-copied

	res := Result{ExitCode: state.ExitCode(), TimedOut: timedOut}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		res.Signal = ws.Signal()
	}
	if c.Confine != nil {
		end, err := inside.Ended()
		res.Note = end.Note
		switch {
		case err == nil:
			res.ExitCode, res.Signal = end.ExitCode, end.Signal
		case ctx.Err() == nil && !timedOut && diskErr == nil:
			return res, OfStart(fmt.Errorf("run %s: %w", c.Args[0], err))
		default: // killed before it could report more
			res.ExitCode, res.Signal = -1, syscall.SIGKILL
		}
	}
	if ctx.Err() != nil {
		return res, fmt.Errorf("run %s: %w", c.Args[0], context.Cause(ctx))
	}
	if diskErr != nil {
		return res, fmt.Errorf("run %s: %w", c.Args[0], diskErr)
	}
	if err := cmp.Or(exitErr, waitErr); err != nil {
		return res, fmt.Errorf("wait for %s: %w", c.Args[0], err)
	}
	return res, nil
}

// maxRest is the default maximum capacity of a pipe in bytes.
const maxRest = 1 << 20

// rest copies the data in a pipe without waiting for more: on a busy machine
// the deadline can expire before the output was read.
func rest(w io.Writer, r *os.File) {
	conn, err := r.SyscallConn()
	if err != nil || r.SetReadDeadline(time.Time{}) != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for range maxRest / len(buf) {
		n := 0
		err := conn.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf) // empty, or end of file
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return
		}
	}
}

// beside is what runs concurrently with a command.
type beside struct {
	failed chan struct{} // closed when it has failed
	end    func() error  // ends it, and returns its error
}

// measure measures the disk usage of a command until its end.
func (c Command) measure(ctx context.Context) beside {
	b := beside{failed: make(chan struct{}), end: func() error { return nil }}
	if c.Disk == nil {
		return b
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := c.Disk.Watch(ctx)
		if err != nil {
			close(b.failed)
		}
		ended <- err
	}()
	b.end = func() error {
		cancel()
		return <-ended
	}
	return b
}

// start starts the command as the leader of a new process group.
func start(c Command, out *os.File) (*os.Process, *Confined, error) {
	if c.Confine != nil {
		return startConfined(c, out)
	}
	path, err := Look(c.Args[0], c.Env)
	if err != nil {
		return nil, nil, err
	}
	cmd := &exec.Cmd{
		Path:        path,
		Args:        c.Args,
		Dir:         c.Dir,
		Env:         c.Env,
		Stdin:       c.input(),
		Stdout:      cmp.Or(c.Stdout, out),
		Stderr:      cmp.Or(c.Stderr, out),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	return cmd.Process, &Confined{Kill: func() {}}, nil
}

// input returns the standard input for exec, which reads a nil interface as empty.
func (c Command) input() io.Reader {
	if c.Stdin == nil {
		return nil
	}
	return c.Stdin
}

func startConfined(c Command, out *os.File) (*os.Process, *Confined, error) {
	unique := exec.Cmd{Env: append([]string{}, c.Env...)}
	inside, err := c.Confine(c.Args, unique.Environ(), c.Dir) // each variable once
	if err != nil {
		return nil, nil, fmt.Errorf("confine %s: %w", c.Args[0], err)
	}
	in := c.Stdin
	if in == nil {
		if in, err = os.Open(os.DevNull); err == nil {
			defer in.Close()
		}
	}
	var leader *os.Process
	if err == nil {
		leader, err = inside.Start([3]*os.File{in, cmp.Or(c.Stdout, out), cmp.Or(c.Stderr, out)})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("start %s in its sandbox: %w", c.Args[0], err)
	}
	return leader, inside, nil
}

// await returns when the leader has exited. It terminates the group if ctx is
// done or the timeout expires, and kills it if failed is closed. It reports whether
// the timeout expired.
func (c Command) await(ctx context.Context, pid int, exited, failed <-chan struct{}, kill func()) (timedOut bool) {
	var deadline <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		deadline = t.C
	}
	select {
	case <-exited:
		return false
	case <-failed:
		end(pid, exited, kill)
		return false
	case <-ctx.Done():
	case <-deadline:
		timedOut = true
	}
	signal(pid, syscall.SIGTERM)
	if !exitsWithin(ctx, cmp.Or(c.Grace, Grace), exited) {
		end(pid, exited, kill)
	}
	return timedOut
}

// exitsWithin reports whether the leader exits within a grace period, which
// ends early when the context's kill channel is closed.
func exitsWithin(ctx context.Context, grace time.Duration, exited <-chan struct{}) bool {
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-exited:
		return true
	case <-t.C:
	case <-Hurried(ctx):
	}
	return false
}

// end kills a command, and returns when its leader has exited. The sandbox
// helper knows all descendants; if it were killed itself, it could not kill
// them.
func end(pid int, exited <-chan struct{}, kill func()) {
	kill()
	last := time.NewTimer(drain)
	defer last.Stop()
	select {
	case <-exited:
	case <-last.C:
		signal(pid, syscall.SIGKILL)
		<-exited
	}
}

// signal sends a signal to a process group, which may have no processes left.
func signal(pgid int, sig syscall.Signal) {
	syscall.Kill(-pgid, sig) //nolint:errcheck // ESRCH means that no process is left
}
