package extension

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tasks"
)

// LanguageConfig is the input of NewLanguages.
type LanguageConfig struct {
	LSP     tasks.LSP
	Root    *os.Root // the workspace, whose name is absolute and without symlinks
	Version string   // of millhand
	Sandbox string   // level of the processes, for reports
	// Launch is that of Config.
	Launch func(context.Context, tasks.LanguageServer) (proc.Command, error)
	Emit   func(event.Extension) // called by several goroutines
	Warn   func(text string)     // likewise
	Now    func() time.Time
}

// Languages are the language servers of a job. Each starts with the first file for it.
type Languages struct {
	servers []*languageServer
	live    *lsp.Servers
}

// languageServer is one language server of a job.
type languageServer struct {
	config *LanguageConfig
	spec   tasks.LanguageServer
	live   *lsp.Server

	mu       sync.Mutex
	state    event.Extension // without the counts of live
	reported map[lsp.Kind]bool

	launch    sync.Once
	launching sync.WaitGroup
	launched  chan lsp.Launched
	life      context.Context //nolint:containedctx // of the launch, which no call waits for
	end       context.CancelFunc
}

// NewLanguages returns the servers, none of which has started. They end with ctx; the caller
// closes them.
func NewLanguages(ctx context.Context, c LanguageConfig) *Languages {
	set := &Languages{}
	var live []*lsp.Server
	for _, spec := range c.LSP.Servers {
		s := &languageServer{config: &c, spec: spec, reported: map[lsp.Kind]bool{}, state: event.Extension{Kind: "lsp", Name: spec.Name}, launched: make(chan lsp.Launched, 1)}
		s.life, s.end = context.WithCancel(ctx)
		s.live = lsp.New(ctx, lsp.Config{
			Name: spec.Name, Version: c.Version, Extensions: spec.Extensions, Root: c.Root, Initialization: spec.Initialization, Wait: c.LSP.Wait,
			Launched: s.launched, Notify: s.notice, Now: c.Now,
		})
		set.servers, live = append(set.servers, s), append(live, s.live)
	}
	set.live = lsp.NewServers(c.Root, live...)
	return set
}

// Tools returns what the tools of a session need; nil without servers.
func (set *Languages) Tools() *lsp.Servers {
	if set == nil {
		return nil
	}
	return set.live
}

// Close ends the servers, and reports their totals.
func (set *Languages) Close() {
	if set == nil {
		return
	}
	var group sync.WaitGroup
	for _, s := range set.servers {
		group.Go(s.close)
	}
	group.Wait()
}

// prepare prepares what the processes of the server need.
func (s *languageServer) prepare() {
	command, err := s.config.Launch(s.life, s.spec)
	s.launched <- lsp.Launched{Command: command, Err: err}
}

// notice reports what a server does that is no response.
func (s *languageServer) notice(n lsp.Notice) {
	if n.Kind == lsp.Used {
		s.launch.Do(func() { s.launching.Go(s.prepare) })
		return
	}
	name := "language server " + s.spec.Name
	s.mu.Lock()
	first := !s.reported[n.Kind]
	s.reported[n.Kind] = true
	switch n.Kind {
	case lsp.Ready:
		s.state.Status = event.ExtensionReady
	case lsp.Failed:
		s.state.Status, s.state.Error = event.ExtensionFailed, textcut.Head(n.Text, maxError, "...")
	case lsp.Refused:
		countRefused(&s.state, n.Text)
	case lsp.Noise, lsp.Slow, lsp.Used:
	}
	s.mu.Unlock()
	switch {
	case n.Kind == lsp.Ready:
		s.emit()
	case n.Kind == lsp.Failed:
		s.emit()
		tail := lastLines(s.live.Info().Stderr)
		if tail != "" {
			tail = "; standard error: " + tail
		}
		s.config.Warn(n.Text + tail + "; the job continues without it")
	case !first:
	case n.Kind == lsp.Refused:
		s.config.Warn(fmt.Sprintf("%s sent the request %s, which was refused", name, textcut.OneLine(n.Text)))
	case n.Kind == lsp.Noise:
		s.config.Warn(fmt.Sprintf("%s wrote text to its standard output that is not a message, and that is ignored: %s", name, textcut.OneLine(n.Text)))
	case n.Kind == lsp.Slow:
		s.config.Warn(fmt.Sprintf("%s had no diagnostics within %s after several edits in a row; edits don't wait for it any more", name, s.config.LSP.Wait))
	}
}

// countRefused counts a refused request.
func countRefused(state *event.Extension, method string) {
	if state.RefusedRequests == nil {
		state.RefusedRequests = map[string]int{}
	}
	method = textcut.Head(method, maxMethod, "...")
	if _, known := state.RefusedRequests[method]; known || len(state.RefusedRequests) < maxMethods {
		state.RefusedRequests[method]++
	}
}

// emit reports the state.
func (s *languageServer) emit() {
	info := s.live.Info()
	s.mu.Lock()
	state := s.state
	state.RefusedRequests = maps.Clone(s.state.RefusedRequests)
	s.mu.Unlock()
	state.Transport, state.Sandbox = "stdio", s.config.Sandbox
	if info.Name != "" || info.Version != "" {
		state.Server = &event.ServerInfo{Name: textcut.Head(info.Name, maxMethod, "..."), Version: textcut.Head(info.Version, maxMethod, "...")}
	}
	state.StartMS, state.Calls, state.Errors, state.Restarts = info.Started.Milliseconds(), info.Calls, info.Errors, info.Restarts
	state.StderrTail = textcut.Ends(info.Stderr, 0, maxError, "...")
	s.config.Emit(state)
}

// close ends the server, and reports its totals. One that the manifest names was not needed if no
// file for it was used.
func (s *languageServer) close() {
	s.launch.Do(func() {}) // not any more
	s.live.Close()
	s.end()
	s.launching.Wait()
	s.mu.Lock()
	started := s.state.Status != ""
	if !started && !s.spec.IfFound {
		s.state.Status = event.ExtensionNotNeeded
	}
	state := s.state
	s.mu.Unlock()
	switch {
	case started:
		s.emit()
	case state.Status != "":
		s.config.Emit(state)
	}
}
