package extension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/mcp"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// maxOffered is how many tools of extensions a job may offer to its model.
const maxOffered = 128

// optionalWait is how long optional servers may take, or longer if the others do: the first
// request to the model has to list their tools.
const optionalWait = 5 * time.Second

// Config is the input of Start.
type Config struct {
	Servers []tasks.MCPServer
	// Profiles are those of the sessions that call tools: the job's first, and those of
	// its subagents.
	Profiles []permission.Profile
	Custom   []tools.Tool // whose names, as those of the tools of millhand, are in use
	Version  string       // of millhand
	Sandbox  string       // level of the processes, for reports
	// Launch prepares what the processes of a server need, which its owner releases after Close, and returns what starts one.
	Launch  func(ctx context.Context, s tasks.MCPServer) (proc.Command, error)
	Proxy   func(*http.Request) (*url.URL, error) // for remote servers; nil for none
	Hold    func(token string)                    // is called with each token that is requested for a server, before its use
	Scripts *Scripts                              // nil without tool files and plugins
	Changed func()                                // is called when a server has other tools than at the start, of those that are followed
	Emit    func(event.Extension)                 // called by several goroutines
	Warn    func(text string)                     // likewise
	Now     func() time.Time
}

// taken reports whether the name of a tool is one of millhand's or of a custom tool.
func (c *Config) taken(name string) bool {
	return permission.Reserved(name) || slices.ContainsFunc(c.Custom, func(t tools.Tool) bool { return strings.EqualFold(t.Spec().Name, name) })
}

// Set are the extensions of a job. Its methods are for one goroutine; its tools may be called
// concurrently.
type Set struct {
	config  *Config
	servers []*server
	host    *host
	ready   []*server

	mu      sync.Mutex   // held by Refresh
	tools   []tools.Tool // of the servers
	version int          // of tools
}

// Start starts the servers concurrently, and lists their tools. The error of a server that is
// required is for the user: it names the server, and what to do. They end with ctx; the
// caller closes the set, also after an error.
func Start(ctx context.Context, c Config) (*Set, error) {
	set := &Set{config: &c}
	for _, s := range c.Servers {
		one := &server{config: &c, spec: s, state: event.Extension{Kind: "mcp", Name: s.Name}}
		set.servers = append(set.servers, one)
		if !mayCall(c.Profiles, s.Name) {
			one.state.Status = event.ExtensionNotNeeded
			c.Warn(fmt.Sprintf("MCP server %s is not started: no profile of the job allows its tools; add %s_*: allow to its permission rules", s.Name, s.Name))
			one.emit()
		}
	}
	needed := slices.DeleteFunc(slices.Clone(set.servers), func(s *server) bool { return s.state.Status != "" })
	if c.Scripts != nil {
		set.host = &host{config: &c, scripts: c.Scripts}
	}
	startAll(ctx, needed, set.host, c.Now)
	failed := []error{set.host.settle()}
	for _, s := range needed {
		failed = append(failed, s.settle(ctx))
	}
	if err := errors.Join(failed...); err != nil {
		return set, err
	}
	set.ready = needed
	return set, set.offer()
}

// mayCall reports whether a session could be allowed to call a tool of a server.
func mayCall(profiles []permission.Profile, server string) bool {
	return slices.ContainsFunc(profiles, func(p permission.Profile) bool { return p.MayCall(server + "_\x00") })
}

// startAll starts servers and the host, and waits for them: for the optional servers not longer than
// for the others, except at the start.
func startAll(ctx context.Context, servers []*server, h *host, now func() time.Time) {
	starting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var required, optional sync.WaitGroup
	began := now()
	if h != nil {
		required.Go(func() { h.start(ctx) })
	}
	for _, s := range servers {
		if s.spec.Optional {
			optional.Go(func() { s.start(ctx, starting) })
		} else {
			required.Go(func() { s.start(ctx, ctx) })
		}
	}
	required.Wait()
	timer := time.AfterFunc(optionalWait-now().Sub(began), func() {
		cancel(fmt.Errorf("not ready after %s, and it is optional", optionalWait))
	})
	defer timer.Stop()
	optional.Wait()
}

// offer selects and names the tools of the servers that are ready.
func (set *Set) offer() error {
	c, servers := set.config, set.ready
	var all []mcp.Tool
	var offer []tools.Tool
	owners := map[string]*server{}
	for _, s := range servers {
		owners[s.spec.Name] = s
		s.state.ToolsOffered, s.state.ToolsLeftOut = 0, nil
		for _, t := range s.listed {
			if s.spec.Offers(t.Name) {
				all = append(all, t)
			} else {
				s.state.ToolsLeftOut = append(s.state.ToolsLeftOut, t.Name)
			}
		}
	}
	names := mcp.Names(all)
	for i, t := range all {
		s := owners[t.Server]
		if c.taken(names[i]) || set.host.has(names[i]) {
			s.state.ToolsLeftOut = append(s.state.ToolsLeftOut, t.Name)
			c.Warn(fmt.Sprintf("tool %s of MCP server %s is left out: the name %s is in use", t.Name, t.Server, names[i]))
			continue
		}
		if !c.Profiles[0].Hides(names[i]) {
			s.state.ToolsOffered++
		}
		offer = append(offer, s.tool(names[i], t))
	}
	offered, most := set.host.offers(), (*server)(nil)
	for _, s := range servers {
		slices.Sort(s.state.ToolsLeftOut)
		offered += s.state.ToolsOffered
		if most == nil || s.state.ToolsOffered > most.state.ToolsOffered {
			most = s
		}
		s.emit()
	}
	if offered > maxOffered && most != nil {
		of := "MCP servers"
		if set.host.offers() > 0 {
			of += ", tool files and plugins"
		}
		return fmt.Errorf("%d tools of %s would be offered, more than %d; the server %s has %d: leave some out with mcp.%s.tools, such as {\"*\": false, NAME: true}, or by rules of the profile",
			offered, of, maxOffered, most.spec.Name, most.state.ToolsOffered, most.spec.Name)
	}
	if offered > maxOffered {
		return fmt.Errorf("%d tools of tool files and plugins would be offered, more than %d: leave some out by rules of the profile", offered, maxOffered)
	}
	set.tools = offer
	return nil
}

// Follows reports whether the tools may change: then Refresh returns them before each request.
func (set *Set) Follows() bool {
	return set != nil && slices.ContainsFunc(set.ready, func(s *server) bool { return s.spec.Follow })
}

// Refresh lists the tools of the servers again that have announced others and whose changes are
// followed. It returns the tools for a session and a number that differs after a change. It may be called
// concurrently.
func (set *Set) Refresh(ctx context.Context, session, agent string) ([]tools.Tool, int) {
	set.mu.Lock()
	defer set.mu.Unlock()
	before := map[*server][]mcp.Tool{}
	for _, s := range set.ready {
		if !s.takeChange() {
			continue
		}
		listed, err := s.live.List(ctx)
		if err != nil {
			set.config.Warn(err.Error() + "; the job continues with its earlier tools")
			continue
		}
		before[s], s.listed = s.listed, listed
	}
	if len(before) == 0 {
		return slices.Concat(set.host.tools(session, agent), set.tools), set.version
	}
	if err := set.offer(); err != nil {
		set.config.Warn(err.Error() + "; the job continues with the earlier tools")
		for s, listed := range before {
			s.listed = listed
		}
		set.offer() //nolint:errcheck // it has succeeded with these tools
	}
	set.version++
	set.config.Changed()
	return slices.Concat(set.host.tools(session, agent), set.tools), set.version
}

// takeChange reports whether the server has announced other tools since the last call.
func (s *server) takeChange() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed
	s.changed = false
	return changed
}

// Tools returns the tools for a session: those of tool files and plugins, then those of
// the servers, in their order and by name.
func (set *Set) Tools(session, agent string) []tools.Tool {
	if set == nil {
		return nil
	}
	return slices.Concat(set.host.tools(session, agent), set.tools)
}

// Hooks returns the hooks of plugins for a session.
func (set *Set) Hooks(session string) []tools.Hook {
	if set == nil {
		return nil
	}
	return set.host.hooks(session)
}

// Pause ends the processes. Nothing of them runs until the next call of a tool, which starts
// its server again.
func (set *Set) Pause() {
	if set == nil {
		return
	}
	var group sync.WaitGroup
	for _, s := range set.servers {
		if s.live != nil {
			group.Go(s.live.Pause)
		}
	}
	group.Go(set.host.pause)
	group.Wait()
}

// Close ends the servers, and reports their totals.
func (set *Set) Close() {
	if set == nil {
		return
	}
	var group sync.WaitGroup
	group.Go(set.host.close)
	for _, s := range set.servers {
		group.Go(s.close)
	}
	group.Wait()
}

// server is one MCP server of a job.
type server struct {
	config *Config
	spec   tasks.MCPServer
	live   *mcp.Server // nil if it was not started
	listed []mcp.Tool
	failed error

	mu       sync.Mutex
	state    event.Extension // without the counts of live
	reported map[mcp.Kind]bool
	// changed is whether tools were announced that are followed, and not listed yet.
	changed bool
}

// start starts the server; until ends the start only.
func (s *server) start(ctx, until context.Context) {
	c := mcp.Config{Name: s.spec.Name, Version: s.config.Version, Timeout: s.spec.Timeout, CallTimeout: s.spec.CallTimeout, Notify: s.notice, Now: s.config.Now}
	if remote := s.spec.Remote; remote != nil {
		s.state.Transport = "http"
		c.Remote = &mcp.Remote{URL: remote.URL, Header: remote.Headers, Proxy: s.config.Proxy}
		if o := remote.OAuth; o != nil {
			c.Remote.OAuth = &mcp.OAuth{TokenURL: o.TokenURL, ClientID: o.ID, ClientSecret: o.Secret, Scopes: o.Scopes, Hold: s.config.Hold}
		}
	} else {
		var err error
		if c.Command, err = s.config.Launch(ctx, s.spec); err != nil {
			s.failed = fmt.Errorf("MCP server %s: %w", s.spec.Name, err)
			return
		}
		s.state.Transport, s.state.Sandbox = "stdio", s.config.Sandbox
	}
	life, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(until, func() { cancel(context.Cause(until)) })
	s.live, s.listed, s.failed = mcp.Start(life, c)
	if !stop() && s.failed == nil { // it is ending
		s.failed = context.Cause(until)
	}
}

// settle sets the state after the start, and returns the error of a required server.
func (s *server) settle(ctx context.Context) error {
	if s.failed == nil {
		s.state.Status = event.ExtensionReady
		return nil
	}
	s.state.Status, s.state.Error = event.ExtensionFailed, textcut.Head(s.failed.Error(), maxError, "...")
	tail := ""
	if s.live != nil {
		if tail = lastLines(s.live.Info().Stderr); tail != "" {
			tail = "; standard error: " + tail
		}
	}
	if s.spec.Optional && ctx.Err() == nil {
		s.state.Status = event.ExtensionAbsent
		s.config.Warn(s.failed.Error() + tail + "; the job continues without it")
	}
	s.emit()
	if s.spec.Optional {
		return nil
	}
	return fmt.Errorf("%w%s; fix mcp.%s, or make it optional: true", s.failed, tail, s.spec.Name)
}

const (
	maxError = 2000
	maxTail  = 500 // of standard error, in reasons
)

// lastLines returns the end of standard error in one line.
func lastLines(stderr string) string {
	return textcut.Ends(textcut.OneLine(stderr), 0, maxTail, "...")
}

// notice reports what a server does that is no response.
func (s *server) notice(n mcp.Notice) {
	s.mu.Lock()
	first := !s.reported[n.Kind]
	if s.reported == nil {
		s.reported = map[mcp.Kind]bool{}
	}
	s.reported[n.Kind] = true
	follow := n.Kind == mcp.Changed && s.spec.Follow
	s.changed = s.changed || follow
	if n.Kind == mcp.Refused {
		countRefused(&s.state, n.Text)
	}
	s.mu.Unlock()
	name := "MCP server " + s.spec.Name
	switch {
	case n.Kind == mcp.InvalidTool:
		s.config.Warn(name + ": " + n.Text + " and is left out")
	case !first || follow:
	case n.Kind == mcp.Refused:
		s.config.Warn(fmt.Sprintf("%s sent the request %s, which was refused", name, textcut.OneLine(n.Text)))
	case n.Kind == mcp.Noise:
		what := "wrote text to its standard output"
		if s.spec.Remote != nil {
			what = "sent text"
		}
		s.config.Warn(fmt.Sprintf("%s %s that is not a message, and that is ignored: %s", name, what, textcut.OneLine(n.Text)))
	case n.Kind == mcp.Changed:
		s.config.Warn(name + " has changed its tools; the job continues with those of the start")
	}
}

// Limits of what a server makes of a report.
const (
	maxMethods = 20
	maxMethod  = 100 // length
)

// tool returns a tool of the server.
func (s *server) tool(name string, t mcp.Tool) tools.Tool {
	return tools.NewExternal(tools.External{
		Name: name, Description: t.Description, Extension: s.spec.Name, Foreign: "result of MCP server " + s.spec.Name, Schema: t.Schema,
		Call: func(ctx context.Context, c tools.ExternalCall) (tools.ExternalResult, error) {
			res, err := s.live.Call(ctx, t.Name, c.Arguments)
			if err != nil {
				return tools.ExternalResult{}, err
			}
			out := tools.ExternalResult{Text: res.Text, Failed: res.Failed}
			for _, i := range res.Images {
				out.Images = append(out.Images, tools.Attachment{MIME: i.MIME, Data: i.Data})
			}
			return out, nil
		},
	})
}

// emit reports the state.
func (s *server) emit() {
	s.mu.Lock()
	state := s.state
	refused := maps.Clone(s.state.RefusedRequests)
	s.mu.Unlock()
	state.RefusedRequests = refused
	if s.live != nil {
		info := s.live.Info()
		if info.Protocol != "" {
			state.Server, state.Protocol = &event.ServerInfo{Name: textcut.Head(info.Name, maxMethod, "..."), Version: textcut.Head(info.Version, maxMethod, "...")}, info.Protocol
		}
		state.StartMS, state.Calls, state.Errors, state.Restarts = info.Started.Milliseconds(), info.Calls, info.Errors, info.Restarts
		state.StderrTail = textcut.Ends(info.Stderr, 0, maxError, "...")
	}
	s.config.Emit(state)
}

// close ends the server, and reports its totals if it was started.
func (s *server) close() {
	if s.live != nil {
		s.live.Close()
		s.emit()
	}
}
