package jshost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
)

const (
	maxRestarts = 3                // in a job
	loadTimeout = 30 * time.Second // of all files together
	abortGrace  = time.Second      // for a call to end after its abort
)

// Config configures a host.
type Config struct {
	Command     proc.Command // starts the process
	Load        Load
	CallTimeout time.Duration
	HookTimeout time.Duration
	Fail        func(error)       // ends the job: a plugin that may be a guard does not work
	Warn        func(text string) // called by several goroutines
	Now         func() time.Time
}

// Load is what the process loads.
type Load struct {
	Entries   []Module       `json:"entries"`
	Directory string         `json:"directory"` // the workspace
	Worktree  string         `json:"worktree"`  // the root of its working tree
	Project   string         `json:"project"`
	Settings  map[string]any `json:"config"` // what plugins' hook config sees a copy of
}

// Module is a compiled tool file or plugin.
type Module struct {
	Module  string          `json:"module"` // file name
	Name    string          `json:"name"`
	Base    string          `json:"base"` // start of the names of a file's tools
	Plugin  bool            `json:"plugin"`
	Options json.RawMessage `json:"options,omitempty"`
}

// Loaded is what a module provides.
type Loaded struct {
	Error    string   `json:"error"` // "" if it was loaded
	Tools    []Tool   `json:"tools"`
	Hooks    []string `json:"hooks"`
	Problems []string `json:"problems"` // what has no effect
}

// Tool is a tool of a file or a plugin.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Checks      bool            `json:"checks"` // the tool checks its arguments, and converts some that the schema excludes
	Owner       string          `json:"owner"`  // name of its module
}

// Info describes a host. The counts are those so far.
type Info struct {
	Name, Version           string // of the runtime; "" before the first start
	Started                 time.Duration
	Calls, Errors, Restarts int
	Stderr                  string // the end of its standard error
}

// Fault is the error of a host that did not do its work: it ended, or timed out.
type Fault struct{ Err error }

// Error is for the user and the model.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Host is the process of a job. Its methods may be called concurrently.
type Host struct {
	config Config
	life   context.Context    //nolint:containedctx // of the processes, which outlive calls
	end    context.CancelFunc // ends the processes

	starting sync.Mutex // held while a process starts
	first    []Loaded   // by the first process

	mu     sync.Mutex
	live   *conn // the last process
	paused bool  // it was ended by Pause
	closed bool
	info   Info
	faults int  // of hooks that may be guards
	told   bool // a variable of a hook was refused
}

// Start starts a host, which the caller closes, and loads the modules. It ends with ctx.
func Start(ctx context.Context, c Config) (*Host, []Loaded, error) {
	h := &Host{config: c}
	h.life, h.end = context.WithCancel(ctx)
	began := c.Now()
	loaded, err := h.open(ctx)
	h.mu.Lock()
	h.info.Started = c.Now().Sub(began)
	h.mu.Unlock()
	if err != nil {
		h.Close() //nolint:contextcheck // ends in any case
	}
	return h, loaded, err
}

// open starts a process and loads the modules.
func (h *Host) open(ctx context.Context) ([]Loaded, error) {
	service, err := proc.StartService(h.life, h.config.Command) //nolint:contextcheck // ctx is that of the request
	if err != nil {
		return nil, err
	}
	c := newConn(service)
	h.mu.Lock()
	h.live = c
	h.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, loadTimeout, fmt.Errorf("timed out after %s", loadTimeout))
	defer cancel()
	raw, err := c.call(ctx, "load", h.config.Load, nil)
	var res struct {
		Name, Version string
		Loaded        []Loaded
	}
	if err == nil {
		err = json.Unmarshal(raw, &res)
	}
	if err == nil {
		err = h.check(res.Loaded)
	}
	if err != nil {
		c.kill()
		return nil, fmt.Errorf("load tool files and plugins: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.info.Name, h.info.Version = res.Name, res.Version
	return res.Loaded, nil
}

// check checks what a process loaded. One that was started again must load what the first one did.
func (h *Host) check(loaded []Loaded) error {
	if len(loaded) != len(h.config.Load.Entries) {
		return errors.New("it did not load all files")
	}
	if h.first == nil {
		h.first = loaded
	}
	for i, l := range loaded {
		if l.Error != "" && h.first[i].Error == "" {
			return fmt.Errorf("%s was not loaded again: %s", h.config.Load.Entries[i].Name, l.Error)
		}
	}
	return nil
}

// current returns the process, and starts it again if it has ended.
func (h *Host) current(ctx context.Context) (*conn, error) {
	h.starting.Lock()
	defer h.starting.Unlock()
	h.mu.Lock()
	c, closed, paused, restarts := h.live, h.closed, h.paused, h.info.Restarts
	h.mu.Unlock()
	switch {
	case closed:
		return nil, errors.New("the host of tool files and plugins has ended with the job")
	case !paused && c.works():
		return c, nil
	case !paused && restarts == maxRestarts:
		return nil, fmt.Errorf("the host of tool files and plugins has ended %d times in this job and is not started again", maxRestarts+1)
	}
	c.close()
	h.mu.Lock()
	if h.paused = false; !paused {
		h.info.Restarts++
	}
	h.mu.Unlock()
	if _, err := h.open(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live, nil
}

// call sends a request within a timeout. A process that does not respond is killed after its work was
// aborted. Errors of the called function are *CallError, others *Fault.
func (h *Host) call(ctx context.Context, method string, params any, timeout time.Duration, ask func(json.RawMessage) error) (json.RawMessage, error) {
	c, err := h.current(ctx)
	if err != nil {
		return nil, &Fault{err}
	}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %s", timeout))
	defer cancel()
	raw, err := c.call(limited, method, params, ask)
	switch {
	case err == nil:
		return raw, nil
	case errors.As(err, new(*CallError)):
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, &Fault{c.said(err)}
}

// maxSaid is the maximum length of the end of standard error in an error, in bytes.
const maxSaid = 500

// said adds the end of the standard error of a process that has ended by itself to an error.
func (c *conn) said(err error) error {
	c.mu.Lock()
	ended := errors.Is(c.failed, errEnded)
	c.mu.Unlock()
	text := textcut.OneLine(strings.ToValidUTF8(string(c.service.Stderr()), "\uFFFD"))
	if !ended || text == "" {
		return err
	}
	return fmt.Errorf("%w; standard error: %s", err, textcut.Ends(text, 0, maxSaid, "..."))
}

// Info returns the state of the host.
func (h *Host) Info() Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := h.info
	if h.live != nil {
		i.Stderr = strings.ToValidUTF8(string(h.live.service.Stderr()), "\uFFFD")
	}
	return i
}

// disposeTimeout is how long plugins may take to end.
const disposeTimeout = 2 * time.Second

// Pause ends the process and waits for its end. The next call starts another one, which does not
// count as a restart.
func (h *Host) Pause() {
	h.starting.Lock()
	defer h.starting.Unlock()
	h.mu.Lock()
	c := h.live
	h.paused = h.paused || c != nil && c.works()
	h.mu.Unlock()
	h.dispose(c)
}

// Close ends the host and waits for its end.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	c := h.live
	h.mu.Unlock()
	h.dispose(c)
	h.end()
}

// dispose lets plugins end, and ends the process.
func (h *Host) dispose(c *conn) {
	if c == nil {
		return
	}
	if c.works() {
		ctx, cancel := context.WithTimeout(context.Background(), disposeTimeout)
		defer cancel()
		c.call(ctx, "dispose", nil, nil) //nolint:errcheck // it ends in any case
	}
	c.close()
}
