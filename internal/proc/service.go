package proc

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// maxStderr is how much of a service's standard error is retained, in bytes.
const maxStderr = 64 << 10

// Service is a long-running program that is used through its standard input and output,
// such as an MCP server. Its methods may be called concurrently.
type Service struct {
	in     *os.File
	out    *os.File
	stderr lockedTail
	hurry  <-chan struct{}

	cancel context.CancelFunc
	ended  chan struct{}
	result Result // once ended is closed
	err    error
}

// lockedTail is a Tail that is read while it is written.
type lockedTail struct {
	mu   sync.Mutex
	tail *Tail
}

func (t *lockedTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tail.Write(p)
}

// StartService starts a program. Output, Stdout and Stderr of the command are not used. It
// ends with ctx; the caller closes it.
func StartService(ctx context.Context, c Command) (*Service, error) {
	if c.Explain == nil {
		c.Explain = func(err error) error { return err }
	}
	var files []*os.File
	err := patiently(ctx, func() (err error) {
		files, err = pipes()
		return err
	})
	if err != nil {
		return nil, c.Explain(fmt.Errorf("create pipes for %s: %w", c.Args[0], err))
	}
	stderr := files[4]
	s := &Service{in: files[1], out: files[2], stderr: lockedTail{tail: NewTail(maxStderr)}, hurry: Hurried(ctx), ended: make(chan struct{})}
	ctx, s.cancel = context.WithCancel(ctx)
	c.Stdin, c.Output, c.Stdout, c.Stderr = files[0], io.Discard, files[3], files[5]

	started := make(chan struct{})
	go func() {
		defer close(s.ended)
		copied := make(chan struct{})
		s.result, s.err = run(ctx, c, func() {
			for _, f := range []*os.File{c.Stdin, c.Stdout, c.Stderr} { // so that the other ends notice its end
				f.Close()
			}
			go func() {
				defer close(copied)
				io.Copy(&s.stderr, stderr) //nolint:errcheck // it is only for error messages
				stderr.Close()
			}()
			close(started)
		})
		if s.err != nil {
			s.err = c.Explain(s.err)
		}
		select {
		case <-started:
		default:
			return
		}
		// Only a process that left the group can still have the other ends.
		last := time.AfterFunc(drain, func() {
			stderr.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // pipes have deadlines
			s.out.SetReadDeadline(time.Unix(1, 0))  //nolint:errcheck // pipes have deadlines
		})
		defer last.Stop()
		<-copied
	}()
	select {
	case <-started:
		return s, nil
	case <-s.ended:
	}
	select {
	case <-started:
		return s, nil
	default:
		s.cancel()
		closeAll(files)
		return nil, s.err
	}
}

// pipes returns both ends of three pipes.
func pipes() (files []*os.File, err error) {
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, r, w)
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// Read reads from its standard output. It fails, usually with [io.EOF], after that has been
// closed.
func (s *Service) Read(p []byte) (int, error) { return s.out.Read(p) }

// Write writes to its standard input. It fails after the program has ended.
func (s *Service) Write(p []byte) (int, error) { return s.in.Write(p) }

// Ended is closed after the program and the processes of its group have ended.
func (s *Service) Ended() <-chan struct{} { return s.ended }

// Result waits for the end and returns how it ended, as [Run] does.
func (s *Service) Result() (Result, error) {
	<-s.ended
	return s.result, s.err
}

// Stderr returns the end of its standard error, at most 64 KiB.
func (s *Service) Stderr() []byte {
	s.stderr.mu.Lock()
	defer s.stderr.mu.Unlock()
	return s.stderr.tail.Bytes()
}

// Close closes its standard input and waits for its end; after the grace period it sends
// SIGTERM to the group, and after another one SIGKILL.
func (s *Service) Close() {
	s.in.Close()
	drained := make(chan struct{})
	go func() { // its last output must not block it
		defer close(drained)
		io.Copy(io.Discard, s.out) //nolint:errcheck // not needed
	}()
	grace := time.NewTimer(Grace)
	defer grace.Stop()
	select {
	case <-s.ended:
	case <-grace.C:
	case <-s.hurry:
	}
	s.cancel()
	<-s.ended
	<-drained
	s.out.Close()
}

// SetWriteDeadline sets the time after which writing fails, as that of [os.File].
func (s *Service) SetWriteDeadline(t time.Time) error { return s.in.SetWriteDeadline(t) }

// Kill ends the program like Close, without the time to end after its input was closed.
func (s *Service) Kill() {
	s.cancel()
	s.Close()
}

// Ended returns how a service ended as an error.
func Ended(res Result, err error) error {
	switch {
	case err != nil:
		return err
	case res.Signal != 0:
		return fmt.Errorf("it was killed by signal (%s)", res.Signal)
	}
	return fmt.Errorf("it exited with code %d", res.ExitCode)
}
