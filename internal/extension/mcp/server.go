package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
)

// protocol is the newest revision that is offered to servers; the SDK's newer one
// starts with a request that older servers delay or ignore.
const protocol = "2025-11-25"

const (
	maxRestarts = 3    // in a job
	maxProgress = 10   // times the timeout of a call
	maxPages    = 100  // of a list of tools
	maxTools    = 1000 // of a server
)

// Kind is what a [Notice] is about.
type Kind string

// The kinds.
const (
	Noise       Kind = "noise"        // output that is not a message; only the first
	InvalidTool Kind = "invalid tool" // in the list
	Refused     Kind = "refused"      // a request of the server; Text is its method
	Changed     Kind = "changed"      // the server announced other tools
)

// Notice is what the owner of a server may report.
type Notice struct {
	Kind Kind
	Text string
}

// Config configures a server.
type Config struct {
	Name        string
	Version     string        // of millhand, for the server
	Command     proc.Command  // starts a process
	Remote      *Remote       // nil for a process
	Timeout     time.Duration // of the start and of each request but calls
	CallTimeout time.Duration // of calls without progress
	Notify      func(Notice)  // called by several goroutines
	Now         func() time.Time
}

// open starts a process, or makes a connection over HTTP.
func (c *Config) open(ctx context.Context) (connection, error) {
	if c.Remote != nil {
		return newHTTPConn(ctx, *c.Remote, "millhand/"+c.Version, newInbox(c.Notify))
	}
	service, err := proc.StartService(ctx, c.Command)
	if err != nil {
		return nil, err
	}
	return newConn(ctx, service, c.Notify)
}

// Tool is a tool of a server.
type Tool struct {
	Server, Name, Description string
	Schema                    json.RawMessage // of its arguments; nil if it has none
}

// Info describes a server. The counts are those so far.
type Info struct {
	Name, Version, Protocol string // as sent by the server; "" before the first handshake
	Started                 time.Duration
	Calls, Errors, Restarts int
	Stderr                  string // the end of its standard error
}

// Server is an MCP server. Its methods may be called concurrently.
type Server struct {
	config Config
	client *sdk.Client
	launch func() (connection, error) // starts a process, or opens a session
	end    context.CancelFunc         // ends them
	tokens atomic.Int64

	starting sync.Mutex // held while a process starts

	mu      sync.Mutex
	live    *live // the last process; nil if the first did not start
	closed  bool
	expired []connection // earlier sessions, on which accepted calls may be in progress
	paused  bool         // the process was ended by Pause
	info    Info
	waiting map[string]func() // by progress token
}

// live is one process or session of a server.
type live struct {
	session *sdk.ClientSession
	conn    connection
}

// connection is one to a server. It implements the SDK's Transport and Connection.
type connection interface {
	sdk.Transport
	sdk.Connection
	works() bool  // whether it can be used
	cause() error // why it was lost, after the end of a process; nil if it was not
	log() []byte  // the end of the standard error
}

// Start starts a server, which the caller closes, and lists its tools by name. The server
// ends with ctx.
func Start(ctx context.Context, c Config) (*Server, []Tool, error) {
	s := &Server{config: c, waiting: map[string]func(){}}
	life, end := context.WithCancel(ctx)
	s.end, s.launch = end, func() (connection, error) { return c.open(life) }
	s.client = sdk.NewClient(&sdk.Implementation{Name: "millhand", Version: c.Version}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.progress(fmt.Sprint(r.Params.ProgressToken))
		},
	})
	begin := c.Now()
	limited, cancel := s.limited(ctx)
	defer cancel()
	tools, err := s.begin(limited)
	s.mu.Lock()
	s.info.Started = c.Now().Sub(begin)
	s.mu.Unlock()
	if err != nil {
		s.Close()
		return s, nil, err
	}
	return s, tools, nil
}

// begin starts the first process and lists the tools.
func (s *Server) begin(ctx context.Context) ([]Tool, error) {
	live, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	tools, err := s.list(ctx, live.session)
	if err != nil {
		return nil, s.explain(ctx, live, "list its tools", err)
	}
	return tools, nil
}

// open starts a process and completes the handshake.
func (s *Server) open(ctx context.Context) (*live, error) {
	conn, err := s.launch()
	if err != nil {
		return nil, err
	}
	l := &live{conn: conn}
	s.mu.Lock()
	s.live = l
	s.mu.Unlock()
	if l.session, err = s.client.Connect(ctx, l.conn, &sdk.ClientSessionOptions{ProtocolVersion: protocol}); err != nil {
		err = s.explain(ctx, l, "start", err)
		l.conn.Close() //nolint:errcheck // always nil
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if init := l.session.InitializeResult(); init != nil {
		s.info.Protocol = init.ProtocolVersion
		if init.ServerInfo != nil {
			s.info.Name, s.info.Version = init.ServerInfo.Name, init.ServerInfo.Version
		}
	}
	return l, nil
}

// List lists the tools again.
func (s *Server) List(ctx context.Context) ([]Tool, error) {
	live, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	tools, err := s.list(ctx, live.session)
	if err != nil {
		return nil, s.explain(ctx, live, "list its tools", err)
	}
	return tools, nil
}

// list returns the tools of all pages, by name. Of several with the same name the first
// counts.
func (s *Server) list(ctx context.Context, session *sdk.ClientSession) ([]Tool, error) {
	var tools []Tool
	cursor, seen := "", map[string]bool{}
	for page := 0; ; page++ {
		if page == maxPages || len(tools) > maxTools {
			return nil, fmt.Errorf("more than %d tools or %d pages", maxTools, maxPages)
		}
		res, err := session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, t := range res.Tools {
			schema, err := json.Marshal(t.InputSchema)
			if err != nil || t.InputSchema == nil {
				schema = nil
			}
			tools = append(tools, Tool{Server: s.config.Name, Name: t.Name, Description: t.Description, Schema: schema})
		}
		if res.NextCursor == "" {
			break
		}
		if cursor = res.NextCursor; seen[cursor] {
			return nil, fmt.Errorf("page %d of its tools has the cursor %q of an earlier page", page+1, textcut.Head(cursor, 100, "..."))
		}
		seen[cursor] = true
	}
	slices.SortStableFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tools, func(a, b Tool) bool { return a.Name == b.Name }), nil
}

// progress restarts the timeout of a call.
func (s *Server) progress(token string) {
	s.mu.Lock()
	restart := s.waiting[token]
	s.mu.Unlock()
	if restart != nil {
		restart()
	}
}

// current returns the process of the server, and starts it again if it has ended.
func (s *Server) current(ctx context.Context) (*live, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	s.mu.Lock()
	l, closed, paused, restarts := s.live, s.closed, s.paused, s.info.Restarts
	s.mu.Unlock()
	switch {
	case closed:
		return nil, fmt.Errorf("MCP server %s has ended with the job", s.config.Name)
	case l != nil && l.works():
		return l, nil
	case !paused && restarts == maxRestarts:
		what := "has ended %d times in this job and is not started again"
		if s.config.Remote != nil {
			what = "has ended its session %d times in this job and is not used again"
		}
		return nil, fmt.Errorf("MCP server %s "+what+"; work without it", s.config.Name, maxRestarts+1)
	}
	expired := l != nil && errors.Is(l.conn.cause(), errSession)
	if l != nil && !expired {
		l.conn.Close() //nolint:errcheck // always nil
	}
	s.mu.Lock()
	if expired {
		s.expired = append(s.expired, l.conn)
	}
	if s.paused = false; !paused {
		s.info.Restarts++
	}
	s.mu.Unlock()
	ctx, cancel := s.limited(ctx)
	defer cancel()
	return s.open(ctx)
}

// limited returns the context of the start of a process.
func (s *Server) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.config.Timeout, fmt.Errorf("timed out after %s", s.config.Timeout))
}

// works reports whether the server can be called.
func (l *live) works() bool { return l.session != nil && l.conn.works() }

// Call calls a tool with a JSON object. An error is for the model; it states whether
// the call may have had an effect.
func (s *Server) Call(ctx context.Context, tool string, arguments json.RawMessage) (*Result, error) {
	res, err := s.call(ctx, tool, arguments)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info.Calls++
	if err != nil || res.Failed {
		s.info.Errors++
	}
	return res, err
}

func (s *Server) call(ctx context.Context, tool string, arguments json.RawMessage) (*Result, error) {
	s.mu.Lock()
	before := s.live
	s.mu.Unlock()
	live, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	res, err := s.send(ctx, live, tool, arguments)
	if errors.Is(err, errExpired) && ctx.Err() == nil && live == before { // it was rejected for its old session, and had no effect
		if live, err = s.current(ctx); err == nil {
			res, err = s.send(ctx, live, tool, arguments)
		}
	}
	return res, err
}

// send sends a call. Its error is errExpired if the server did not accept it because the
// session has expired.
func (s *Server) send(ctx context.Context, live *live, tool string, arguments json.RawMessage) (*Result, error) {
	params := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	token := fmt.Sprintf("call-%d", s.tokens.Add(1))
	params.SetProgressToken(token)
	limited, cancel := s.clock(ctx, token)
	defer cancel()
	res, err := live.session.CallTool(limited, params)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, s.explain(limited, live, "call "+tool, err)
	}
	return newResult(res), nil
}

// clock returns the context of a call, which ends after the timeout without progress.
func (s *Server) clock(ctx context.Context, token string) (context.Context, context.CancelFunc) {
	limit := s.config.CallTimeout
	ctx, total := context.WithTimeoutCause(ctx, maxProgress*limit, fmt.Errorf("timed out after %s, with progress", maxProgress*limit))
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("timed out after %s without progress", limit)) })
	s.mu.Lock()
	s.waiting[token] = func() { timer.Reset(limit) }
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		delete(s.waiting, token)
		s.mu.Unlock()
		timer.Stop()
		cancel(nil)
		total()
	}
}

// explain returns the error of a request with what the server did.
func (s *Server) explain(ctx context.Context, l *live, what string, err error) error {
	var refused *jsonrpc.Error
	var lost *lostError
	var status *statusError
	cause := l.conn.cause()
	unknown := "" // whether a call had an effect
	switch {
	case errors.As(err, &status):
		err = status
	case errors.As(err, &lost):
		err, unknown = lost.why, effectUnknown
	case errors.As(err, &refused) && refused.Code == codeLost:
		err, unknown = errors.New(refused.Message), effectUnknown
	case errors.As(err, &refused):
		return fmt.Errorf("MCP server %s: %s: %s (code %d)", s.config.Name, what, refused.Message, refused.Code)
	case errors.As(cause, new(*endedError)):
		err, unknown = cause, "; it ended while working on it"+effectUnknown+l.said()
	case cause != nil:
		err, unknown = cause, effectUnknown
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if !strings.HasPrefix(what, "call ") {
		unknown = ""
	}
	return fmt.Errorf("MCP server %s: %s: %w%s", s.config.Name, what, err, unknown)
}

// maxSaid is the maximum length of the end of standard error in an error, in bytes.
const maxSaid = 500

// said returns the end of the standard error for an error; "" if there is nothing.
func (l *live) said() string {
	text := textcut.OneLine(strings.ToValidUTF8(string(l.conn.log()), "\uFFFD"))
	if text == "" {
		return ""
	}
	return "; standard error: " + textcut.Ends(text, 0, maxSaid, "...")
}

const effectUnknown = "; whether it had an effect is not known"

// Info returns the state of the server.
func (s *Server) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.info
	if s.live != nil {
		i.Stderr = strings.ToValidUTF8(string(s.live.conn.log()), "\uFFFD")
	}
	return i
}

// Pause ends the process and waits for its end. The next call starts another one, which does
// not count as a restart. A remote server has no process: its session continues.
func (s *Server) Pause() {
	if s.config.Remote != nil {
		return
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	s.mu.Lock()
	l := s.live
	s.paused = s.paused || l != nil && l.works()
	s.mu.Unlock()
	if l != nil {
		l.conn.Close() //nolint:errcheck // always nil
	}
}

// Close ends the server and waits for its end.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	all := s.expired
	if s.live != nil {
		all = append(all, s.live.conn)
	}
	s.mu.Unlock()
	for _, conn := range all {
		conn.Close() //nolint:errcheck // always nil
	}
	s.end()
}
