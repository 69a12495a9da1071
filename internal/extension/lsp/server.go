package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/proc"
)

const (
	maxRestarts    = 3 // in a job
	startTimeout   = time.Minute
	requestTimeout = 10 * time.Second
	maxLate        = 2                // edits in a row without diagnostics in time, after which edits don't wait
	maxSilent      = 5                // likewise, of a server that has sent no diagnostics yet
	firstWait      = 10 * time.Second // for the first diagnostics of a server, which loads a project
)

// Kind is what a [Notice] is about.
type Kind string

// The kinds.
const (
	Noise   Kind = "noise"   // output that is not a message
	Refused Kind = "refused" // a request of the server; Text is its method
	Slow    Kind = "slow"    // edits don't wait for it any more
	Failed  Kind = "failed"  // it is not used any more; Text is the error
	Ready   Kind = "ready"   // it has started for the first time
	Used    Kind = "used"    // it is to be started for the first time, as soon as Launched has a value
)

// Notice is what the owner of a server may report.
type Notice struct {
	Kind Kind
	Text string
}

// Config configures a server.
type Config struct {
	Name           string
	Version        string          // of millhand, for the server
	Extensions     []string        // of its files, such as ".go", in any case
	Root           *os.Root        // the workspace, whose name is absolute and without symlinks
	Initialization json.RawMessage // options for the server; nil for none
	Wait           time.Duration   // for diagnostics after an edit
	Launched       <-chan Launched // gets one value, after the notice that the server is used
	Notify         func(Notice)    // called by several goroutines
	Now            func() time.Time
}

// Launched is what starts the processes of a server, after what they need was prepared.
type Launched struct {
	Command proc.Command
	Err     error // why it can't be started; nil if it can
}

// Info describes a server. The counts are those so far.
type Info struct {
	Name, Version           string // as sent by the server
	Started                 time.Duration
	Calls, Errors, Restarts int
	Stderr                  string // the end of its standard error
}

// Server is a language server. Its methods may be called concurrently.
type Server struct {
	config Config
	life   context.Context //nolint:containedctx // of the processes, which outlive requests
	end    context.CancelFunc
	group  sync.WaitGroup

	launched *Launched // after the first start

	mu       sync.Mutex
	closed   bool
	live     *live         // the last process that completed the handshake; nil for none
	starting chan struct{} // closed when the start in progress ends; nil for none
	failed   error         // why it is not started again
	timeouts int           // edits in a row without diagnostics in time
	answered bool          // it has sent diagnostics
	first    time.Duration // how long the next wait may be at least: firstWait, then 0
	info     Info
	stderr   []byte // of a process that did not complete the handshake
}

// New returns a server, which is started by its first use. It ends with ctx; the caller closes
// it.
func New(ctx context.Context, c Config) *Server {
	s := &Server{config: c, first: firstWait}
	s.life, s.end = context.WithCancel(ctx)
	return s
}

// spawn runs a function that Close waits for; false after Close.
func (s *Server) spawn(do func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.group.Go(do)
	}
	return !s.closed
}

// ready returns the process, starting it if necessary. ctx ends the wait, not the start.
func (s *Server) ready(ctx context.Context) (*live, error) {
	for {
		l, started, err := s.current()
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-started:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// current returns the process, or what is closed when one has started.
func (s *Server) current() (l *live, started chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, fmt.Errorf("language server %s has ended with the job", s.config.Name)
	case s.failed != nil:
		return nil, nil, s.failed
	case s.starting != nil:
		return nil, s.starting, nil
	case s.live != nil && s.live.works():
		return s.live, nil, nil
	case s.live != nil && s.info.Restarts == maxRestarts:
		s.failed = fmt.Errorf("language server %s has ended %d times in this job and is not started again", s.config.Name, maxRestarts+1)
		s.tell(Notice{Failed, s.failed.Error()})
		return nil, nil, s.failed
	}
	s.starting = make(chan struct{})
	s.group.Go(s.start)
	return nil, s.starting, nil
}

// start starts a process.
func (s *Server) start() {
	s.mu.Lock()
	last := s.live
	s.mu.Unlock()
	if last != nil {
		last.close()
	}
	begin := s.config.Now()
	l, server, err := s.open()
	s.mu.Lock()
	defer s.mu.Unlock()
	if last != nil {
		s.info.Restarts++
	} else {
		s.info.Started = s.config.Now().Sub(begin)
	}
	if err != nil {
		s.failed = fmt.Errorf("language server %s: start: %w", s.config.Name, err)
	} else {
		s.live, s.info.Name, s.info.Version = l, server.ServerInfo.Name, server.ServerInfo.Version
	}
	close(s.starting)
	s.starting = nil
	switch {
	case s.life.Err() != nil:
	case err != nil:
		s.tell(Notice{Failed, s.failed.Error()})
	case last == nil:
		s.tell(Notice{Kind: Ready})
	}
}

// process starts a process.
func (s *Server) process() (*proc.Service, error) {
	if s.launched == nil {
		s.config.Notify(Notice{Kind: Used})
		select {
		case l := <-s.config.Launched:
			s.launched = &l
		case <-s.life.Done():
			return nil, context.Cause(s.life)
		}
	}
	if s.launched.Err != nil {
		return nil, s.launched.Err
	}
	return proc.StartService(s.life, s.launched.Command)
}

// open starts a process and completes the handshake.
func (s *Server) open() (*live, *initialized, error) {
	service, err := s.process()
	if err != nil {
		return nil, nil, err
	}
	l := newLive(s, service)
	ctx, cancel := context.WithTimeoutCause(s.life, startTimeout, fmt.Errorf("timed out after %s", startTimeout))
	defer cancel()
	var got initialized
	root := uriOf(s.config.Root.Name())
	params := map[string]any{
		"processId": nil, "rootUri": root, "rootPath": s.config.Root.Name(), "capabilities": clientCapabilities(),
		"workspaceFolders": []any{map[string]any{"uri": root, "name": "workspace"}},
		"clientInfo":       map[string]any{"name": "millhand", "version": s.config.Version},
	}
	if s.config.Initialization != nil {
		params["initializationOptions"] = s.config.Initialization
	}
	if err = l.request(ctx, "initialize", params, &got); err == nil {
		l.can = got.Capabilities
		err = l.notify("initialized", struct{}{})
	}
	if err != nil {
		l.close()
		s.mu.Lock()
		s.stderr = service.Stderr()
		s.mu.Unlock()
		return nil, nil, err
	}
	return l, &got, nil
}

// Open notifies the server in the background of opened files.
func (s *Server) Open(paths ...string) {
	s.spawn(func() {
		if l, err := s.ready(s.life); err == nil {
			l.sync(paths)
		}
	})
}

// Changed notifies a running server of other changed files.
func (s *Server) Changed(files map[string]ChangeKind) {
	s.mu.Lock()
	l := s.live
	s.mu.Unlock()
	if l == nil || !l.works() || len(files) == 0 {
		return
	}
	s.spawn(func() { l.changed(files) })
}

// Info returns the state of the server.
func (s *Server) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, stderr := s.info, s.stderr
	if s.live != nil {
		stderr = s.live.service.Stderr()
	}
	i.Stderr = strings.ToValidUTF8(string(stderr), "\uFFFD")
	return i
}

// Close ends the server and waits for its end.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	l, starting := s.live, s.starting
	s.mu.Unlock()
	if starting != nil {
		s.end()
	}
	if l != nil {
		l.close()
	}
	s.end()
	s.group.Wait()
	s.mu.Lock()
	l = s.live // of a start that was in progress
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// tell reports a notice. The caller holds the lock, which its receiver may need.
func (s *Server) tell(n Notice) {
	if !s.closed {
		s.group.Go(func() { s.config.Notify(n) })
	}
}

// ended returns how a server ended as an error.
func ended(res proc.Result, err error) error {
	switch {
	case err != nil:
		return err
	case res.Signal != 0:
		return fmt.Errorf("it was killed by signal (%s)", res.Signal)
	}
	return fmt.Errorf("it exited with code %d", res.ExitCode)
}

// errLate is the cause of a context that ended before diagnostics arrived.
var errLate = errors.New("no diagnostics in time")

// maxSource is the maximum size of a file that language servers get, in bytes.
const maxSource = 4 << 20

// read returns the content of a file in the workspace, by its absolute path; false for other files,
// and for those that are too large or not text.
func (s *Server) read(path string) (string, bool) {
	rel, err := filepath.Rel(s.config.Root.Name(), path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	f, err := s.config.Root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
		return "", false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSource))
	text := string(data)
	return strings.ToValidUTF8(text, "\uFFFD"), err == nil
}
