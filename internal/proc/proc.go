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
)

// Grace is how long a process group may take to end after SIGTERM before it is
// killed.
const Grace = 2 * time.Second

// drain is how long output is still read after the last process of the group
// was killed: only a process that left the group can hold the pipe longer.
const drain = 250 * time.Millisecond

// Command is a program to run.
type Command struct {
	Args    []string // the program, found on the PATH of Env, and its arguments
	Dir     string
	Env     []string      // the whole environment, as NAME=value
	Timeout time.Duration // 0: no deadline but the context's
	Grace   time.Duration // between SIGTERM and SIGKILL; 0 is [Grace]
	Output  io.Writer     // takes stdout and stderr, in the order of arrival; called by one goroutine
	Confine Confine       // nil: the command runs as it is
	// Beside is called when the command was started, and waited for: its context
	// ends with the command. An error ends the command at once, and is Run's.
	// nil: nothing.
	Beside func(ctx context.Context) error
}

// Confine makes a command ready to be started in a sandbox.
type Confine func(args, env []string, dir string) (*Confined, error)

// Confined is a command that is ready to be started in a sandbox, by another
// program that stands in for it.
type Confined struct {
	Path      string
	Args, Env []string
	Dir       string
	Attr      *syscall.SysProcAttr // makes a process group of it
	Files     []*os.File           // become the files 3 and up

	Started func() error                                     // is called once it was started
	Kill    func()                                           // makes it end, with all that it has started
	Ended   func() (code int, sig syscall.Signal, err error) // is called once it was waited for: how the command ended
	Abandon func()                                           // is called instead of Started if starting it fails
}

// Result is how a command ended.
type Result struct {
	ExitCode int            // -1 if a signal ended it
	Signal   syscall.Signal // 0 if none did
	TimedOut bool           // the Timeout passed; the group was killed
}

// Run runs a command to its end. A command that fails is a Result; an error
// means that it could not be started, or that ctx ended it.
func Run(ctx context.Context, c Command) (Result, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("make a pipe for %s: %w", c.Args[0], err)
	}
	defer r.Close()
	cmd, inside, err := start(c, w)
	w.Close()
	if err != nil {
		return Result{}, err
	}

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
		exitErr = waitExit(cmd.Process.Pid)
	}()

	beside := c.besides(ctx)
	timedOut := c.await(ctx, cmd.Process.Pid, exited, beside.failed, inside.Kill)
	// The leader has ended but isn't reaped yet, so its group's id can't have
	// been given to anybody else.
	signal(cmd.Process.Pid, syscall.SIGKILL)
	waitErr := cmd.Wait()
	besideErr := beside.end()
	closing := time.AfterFunc(drain, func() { r.SetReadDeadline(time.Unix(1, 0)) }) //nolint:errcheck // pipes have deadlines; this one is long over
	defer closing.Stop()
	<-copied

	res := Result{ExitCode: cmd.ProcessState.ExitCode(), TimedOut: timedOut}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		res.Signal = ws.Signal()
	}
	if c.Confine != nil {
		code, sig, err := inside.Ended()
		switch {
		case err == nil:
			res.ExitCode, res.Signal = code, sig
		case ctx.Err() == nil && !timedOut && besideErr == nil:
			return res, fmt.Errorf("run %s: %w", c.Args[0], err)
		default: // it was killed before it could say more
			res.ExitCode, res.Signal = -1, syscall.SIGKILL
		}
	}
	if ctx.Err() != nil {
		return res, fmt.Errorf("run %s: %w", c.Args[0], context.Cause(ctx))
	}
	if besideErr != nil {
		return res, fmt.Errorf("run %s: %w", c.Args[0], besideErr)
	}
	if exit := (*exec.ExitError)(nil); errors.As(waitErr, &exit) {
		waitErr = nil
	}
	if err := cmp.Or(exitErr, waitErr); err != nil {
		return res, fmt.Errorf("wait for %s: %w", c.Args[0], err)
	}
	return res, nil
}

// maxRest is as much as a pipe holds at most, in bytes, if root has not changed it.
const maxRest = 1 << 20

// rest copies what a pipe holds already, and waits for no more: on a busy machine
// the deadline can pass before the output of the command was looked at.
func rest(w io.Writer, r *os.File) {
	conn, err := r.SyscallConn()
	if err != nil || r.SetReadDeadline(time.Time{}) != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for range maxRest / len(buf) {
		n := 0
		err := conn.Read(func(fd uintptr) bool {
			n, _ = syscall.Read(int(fd), buf) // nothing is there, or all is read
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

// besides is what runs beside a command.
type besides struct {
	failed chan struct{} // closed when it has failed
	end    func() error  // ends it, and returns its error
}

func (c Command) besides(ctx context.Context) besides {
	b := besides{failed: make(chan struct{}), end: func() error { return nil }}
	if c.Beside == nil {
		return b
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := c.Beside(ctx)
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
func start(c Command, out *os.File) (*exec.Cmd, *Confined, error) {
	inside := &Confined{Kill: func() {}}
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
		Stdout:      out,
		Stderr:      out,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	return cmd, inside, nil
}

func startConfined(c Command, out *os.File) (*exec.Cmd, *Confined, error) {
	inside, err := c.Confine(c.Args, c.Env, c.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("confine %s: %w", c.Args[0], err)
	}
	cmd := &exec.Cmd{
		Path: inside.Path, Args: inside.Args, Dir: inside.Dir, Env: inside.Env,
		Stdout: out, Stderr: out, ExtraFiles: inside.Files, SysProcAttr: inside.Attr,
	}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if err := cmd.Start(); err != nil {
		inside.Abandon()
		return nil, nil, fmt.Errorf("start %s in its sandbox: %w", c.Args[0], err)
	}
	if err := inside.Started(); err != nil {
		signal(cmd.Process.Pid, syscall.SIGKILL)
		return nil, nil, errors.Join(fmt.Errorf("start %s in its sandbox: %w", c.Args[0], err), cmd.Wait())
	}
	return cmd, inside, nil
}

// await returns when the leader has exited, having ended the group if ctx or
// the timeout ran out before, or killed it if what runs beside it has failed; it
// reports whether it was the timeout.
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

// end kills a command, and returns when its leader has exited. What confines
// the command knows all that it has started; killed itself, it could not end
// that any more.
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

// signal signals a whole process group; that nothing of it is left is fine.
func signal(pgid int, sig syscall.Signal) {
	syscall.Kill(-pgid, sig) //nolint:errcheck // ESRCH means that the aim is reached
}
