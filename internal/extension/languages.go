package extension

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools/language"
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
	watch   *lsp.Watch
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
	set := &Languages{watch: lsp.NewWatch(c.Root)}
	for _, spec := range c.LSP.Servers {
		s := &languageServer{config: &c, spec: spec, reported: map[lsp.Kind]bool{}, state: event.Extension{Kind: "lsp", Name: spec.Name}, launched: make(chan lsp.Launched, 1)}
		s.life, s.end = context.WithCancel(ctx)
		s.live = lsp.New(ctx, lsp.Config{
			Name: spec.Name, Version: c.Version, Root: c.Root, Initialization: spec.Initialization, Wait: c.LSP.Wait,
			Launched: s.launched, Notify: s.notice, Now: c.Now,
		})
		set.servers = append(set.servers, s)
	}
	return set
}

// Tools returns what the tools of a session need; nil without servers.
func (set *Languages) Tools() *language.Servers {
	if set == nil {
		return nil
	}
	return &language.Servers{Opened: set.opened, Edit: set.edit, Query: set.query}
}

// of returns the servers for files, which are used from now on.
func (set *Languages) of(paths ...string) (servers []*languageServer, files [][]string) {
	for _, s := range set.servers {
		mine := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !s.serves(p) })
		if len(mine) > 0 {
			s.launch.Do(func() { s.launching.Go(s.prepare) })
			servers, files = append(servers, s), append(files, mine)
		}
	}
	return servers, files
}

// serves reports whether a file is for the server, by its extension.
func (s *languageServer) serves(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return slices.ContainsFunc(s.spec.Extensions, func(e string) bool { return strings.HasSuffix(name, strings.ToLower(e)) })
}

// changes notifies the running servers of files that were changed by others.
func (set *Languages) changes() {
	files := set.watch.Changes()
	for _, s := range set.servers {
		s.live.Changed(files)
	}
}

func (set *Languages) opened(path string) {
	servers, _ := set.of(path)
	if len(servers) > 0 {
		set.changes()
	}
	for _, s := range servers {
		s.live.Open(path)
	}
}

// edit asks all servers for the files concurrently.
func (set *Languages) edit(ctx context.Context, paths []string) func(context.Context) language.Found {
	servers, files := set.of(paths...)
	if len(servers) == 0 {
		return func(context.Context) language.Found { return language.Found{} }
	}
	set.changes()
	if servers[0].config.LSP.Wait == 0 {
		return func(context.Context) language.Found {
			set.changes()
			for i, s := range servers {
				s.live.Open(files[i]...)
			}
			return language.Found{}
		}
	}
	edits := make([]*lsp.Edit, len(servers))
	var before sync.WaitGroup
	for i, s := range servers {
		before.Go(func() { edits[i] = s.live.Before(ctx, files[i]) })
	}
	before.Wait()
	return func(ctx context.Context) (found language.Found) {
		set.changes()
		all, timedOut := make([][]lsp.FileErrors, len(servers)), make([]bool, len(servers))
		var after sync.WaitGroup
		for i := range servers {
			after.Go(func() { all[i], timedOut[i] = edits[i].After(ctx) })
		}
		after.Wait()
		for i, s := range servers {
			found.Files = append(found.Files, all[i]...)
			if text := edits[i].Logged(); text != "" {
				found.Notes = append(found.Notes, fmt.Sprintf("the language server %s logged an error, so its diagnostics may be incomplete: %s", s.spec.Name, text))
			}
			if timedOut[i] {
				found.Notes = append(found.Notes, fmt.Sprintf("no diagnostics from the language server %s within %s", s.spec.Name, s.config.LSP.Wait))
			}
		}
		slices.SortStableFunc(found.Files, func(a, b lsp.FileErrors) int {
			switch {
			case a.Edited == b.Edited:
				return 0
			case a.Edited:
				return -1
			}
			return 1
		})
		return found
	}
}

func (set *Languages) query(ctx context.Context, q lsp.Query) ([]json.RawMessage, string, error) {
	servers, _ := set.of(q.Path)
	if len(servers) == 0 {
		return nil, "", fmt.Errorf("no language server for %s files is configured", extensionOf(q.Path))
	}
	set.changes()
	s := servers[0]
	results, err := s.live.Query(ctx, q)
	return results, s.spec.Name, err
}

// extensionOf returns the extension of a path, or its name if it has none.
func extensionOf(path string) string {
	if ext := filepath.Ext(path); ext != "" {
		return ext
	}
	return filepath.Base(path)
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
	case lsp.Noise, lsp.Slow:
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
