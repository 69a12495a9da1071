package lsp

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// quiet is how long no diagnostics may arrive, before those of other files are complete.
const quiet = 300 * time.Millisecond

// maxPulled is how many other open files a server is asked for.
const maxPulled = 20

// FileErrors are the errors in a file.
type FileErrors struct {
	Path   string // absolute
	Edited bool   // one of the edited files
	Unsure bool   // some may have been there before the edit
	Errors []Error
}

// Error is an error in a file. Its line and column count from 1.
type Error struct {
	Line, Column int
	Message      string
}

// Edit is a change of files in progress, between [Server.Before] and After.
type Edit struct {
	server *Server
	paths  []string
	before *snapshot // nil if unknown
	logged string    // by the server instead of diagnostics
}

// Logged returns the error that the server logged while After waited, if it found no errors in the
// files; "" for none. A server that fails can respond as if there were none.
func (e *Edit) Logged() string { return e.logged }

// snapshot is what a server has found at some time.
type snapshot struct {
	live     *live
	found    map[string][]diagnostic // by URI
	texts    map[string]string       // of open files
	outdated bool
}

// Before prepares to tell new errors from old ones. It waits for the diagnostics of the files as
// they are, unless the server is known to be slow.
func (s *Server) Before(ctx context.Context, paths []string) *Edit {
	e := &Edit{server: s, paths: paths}
	if s.slow() || s.silent() {
		s.Open(paths...)
		return e
	}
	if shot := s.look(ctx, paths, false); shot != nil && !shot.outdated {
		e.before = shot
	}
	return e
}

// After returns the errors in the files and in others that were published for their new content,
// and were not there before. timedOut is set if there are none in time.
func (e *Edit) After(ctx context.Context) (files []FileErrors, timedOut bool) {
	s := e.server
	if s.slow() {
		s.Open(e.paths...)
		return nil, false
	}
	s.mu.Lock()
	l, errors := s.live, 0
	s.mu.Unlock()
	if l != nil {
		_, errors = l.logs()
	}
	shot := s.look(ctx, e.paths, true)
	if shot != nil && (shot.outdated || !shot.finds(e.paths)) {
		if shot.live != l {
			errors = 0
		}
		if text, n := shot.live.logs(); n > errors {
			e.logged = text
		}
	}
	if shot == nil || shot.outdated {
		return nil, s.wasLate(ctx)
	}
	s.mu.Lock()
	s.timeouts = 0
	s.mu.Unlock()
	before := e.before
	if before != nil && before.live != shot.live { // it was started again
		before = nil
	}
	return shot.since(before, e.paths), false
}

// finds reports whether there is an error in one of the files.
func (s *snapshot) finds(paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return slices.ContainsFunc(s.found[uriOf(path)], func(d diagnostic) bool { return d.Severity == severityError })
	})
}

// silent reports whether the first diagnostics of the server were waited for and have not arrived.
func (s *Server) silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.answered && s.first == 0
}

// heard notes that the server sends diagnostics. Edits wait for one that was silent until then.
func (s *Server) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.answered {
		s.answered, s.timeouts, s.first = true, 0, 0
	}
}

// slow reports whether edits don't wait for the server.
func (s *Server) slow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timeouts >= s.maxLate() || s.failed != nil
}

// maxLate is after how many late edits in a row edits don't wait. The caller holds the lock.
func (s *Server) maxLate() int {
	if s.answered {
		return maxLate
	}
	return maxSilent
}

// wasLate counts an edit without diagnostics in time; false if the server can't be used, or the
// call was interrupted.
func (s *Server) wasLate(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil || s.closed || ctx.Err() != nil {
		return false
	}
	if s.timeouts++; s.timeouts == s.maxLate() {
		s.tell(Notice{Kind: Slow})
	}
	return true
}

// look returns what the server has found in the files as they are, and in others; nil if it
// can't be used, or does not read its input. settle waits for others.
func (s *Server) look(ctx context.Context, paths []string, settle bool) *snapshot {
	s.mu.Lock()
	wait := max(s.config.Wait, s.first)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errLate)
	defer cancel()
	done := make(chan *snapshot, 1)
	if !s.spawn(func() { done <- s.examine(ctx, paths, settle) }) {
		return nil
	}
	var shot *snapshot
	select {
	case shot = <-done:
	case <-ctx.Done():
	}
	if shot == nil || shot.outdated {
		s.mu.Lock()
		s.first = 0
		s.mu.Unlock()
	}
	return shot
}

func (s *Server) examine(ctx context.Context, paths []string, settle bool) *snapshot {
	l, err := s.ready(ctx)
	if err != nil {
		return nil
	}
	l.sync(paths)
	uris := make([]string, len(paths))
	for i, p := range paths {
		uris[i] = uriOf(p)
	}
	waited := false
	for ctx.Err() == nil && l.works() && !l.current(uris) {
		waited = true
		if !l.pull(ctx, uris) {
			l.wait(ctx, uris)
		}
	}
	if settle && l.pulls() {
		l.pull(ctx, l.others(uris))
	}
	if (settle || waited) && !l.pulls() {
		l.settle(ctx)
	}
	return l.shot(uris)
}

// current reports whether the diagnostics of all open ones of the files are for their content.
func (l *live) current(uris []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.allCurrent(uris)
}

func (l *live) allCurrent(uris []string) bool {
	return !slices.ContainsFunc(uris, func(uri string) bool {
		return l.docs[uri] != nil && (l.found[uri] == nil || !l.found[uri].current)
	})
}

// wait waits for diagnostics of files, until ctx or the process ends.
func (l *live) wait(ctx context.Context, uris []string) {
	for {
		l.mu.Lock()
		done, news := l.allCurrent(uris), l.news
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		case <-l.conn.DisconnectNotify():
			return
		}
	}
}

// settle waits until no diagnostics arrive for some time.
func (l *live) settle(ctx context.Context) {
	for {
		l.mu.Lock()
		news := l.news
		l.mu.Unlock()
		timer := time.NewTimer(quiet)
		select {
		case <-news:
			timer.Stop()
		case <-timer.C:
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// others returns the open files that were not edited, the last used ones.
func (l *live) others(uris []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := slices.DeleteFunc(slices.Collect(maps.Keys(l.docs)), func(uri string) bool { return slices.Contains(uris, uri) })
	slices.SortFunc(rest, func(a, b string) int { return cmp.Compare(l.docs[b].used, l.docs[a].used) })
	return rest[:min(len(rest), maxPulled)]
}

// shot returns what was found.
func (l *live) shot(uris []string) *snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	shot := &snapshot{live: l, found: map[string][]diagnostic{}, texts: map[string]string{}, outdated: !l.allCurrent(uris)}
	for uri, f := range l.found {
		shot.found[uri] = f.list
	}
	for uri, d := range l.docs {
		shot.texts[uri] = d.text
	}
	return shot
}

// since returns the errors that are not in an earlier snapshot; nil if that is unknown.
func (s *snapshot) since(before *snapshot, paths []string) []FileErrors {
	var files []FileErrors
	for _, uri := range slices.Sorted(maps.Keys(s.found)) {
		path, _ := PathOf(uri)
		edited := slices.Contains(paths, path)
		if before == nil && !edited {
			continue // all would count as new
		}
		old := map[string]int{}
		if before != nil {
			old = before.counts(uri)
		}
		list := slices.DeleteFunc(slices.Clone(s.found[uri]), func(d diagnostic) bool {
			if d.Severity != severityError {
				return true
			}
			k := s.key(uri, d)
			old[k]--
			return old[k] >= 0
		})
		if len(list) > 0 {
			files = append(files, FileErrors{path, edited, before == nil, errorsOf(list)})
		}
	}
	slices.SortStableFunc(files, func(a, b FileErrors) int { return cmp.Compare(index(paths, a.Path), index(paths, b.Path)) })
	return files
}

// index returns the index of a path, edited files first.
func index(paths []string, path string) int {
	if i := slices.Index(paths, path); i >= 0 {
		return i
	}
	return len(paths)
}

// counts returns how often each error of a file was found.
func (s *snapshot) counts(uri string) map[string]int {
	n := map[string]int{}
	for _, d := range s.found[uri] {
		if d.Severity == severityError {
			n[s.key(uri, d)]++
		}
	}
	return n
}

// key identifies an error in several versions of a file: by its message and the text of its
// line, which an edit above it moves. Files that are not open are not edited.
func (s *snapshot) key(uri string, d diagnostic) string {
	line := strconv.Itoa(d.Range.Start.Line)
	if text, open := s.texts[uri]; open {
		line = ""
		for range d.Range.Start.Line {
			if _, text, open = strings.Cut(text, "\n"); !open {
				break
			}
		}
		if open {
			line, _, _ = strings.Cut(text, "\n")
		}
	}
	return strings.TrimSpace(line) + "\x00" + d.Message
}

func errorsOf(list []diagnostic) []Error {
	all := make([]Error, len(list))
	for i, d := range list {
		all[i] = Error{d.Range.Start.Line + 1, d.Range.Start.Character + 1, d.Message}
	}
	slices.SortStableFunc(all, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(all)
}

// tsserver is the command by which typescript-language-server passes on requests. It
// publishes neither versions nor diagnostics that stay the same.
const tsserver = "typescript.tsserverRequest"

// pulls reports whether the server is asked for diagnostics.
func (l *live) pulls() bool {
	return has(l.can.Diagnostic) || slices.Contains(l.can.Execute.Commands, tsserver)
}

// pull asks for the diagnostics of files; false if the server can't be asked, or has none.
func (l *live) pull(ctx context.Context, uris []string) bool {
	if !l.pulls() {
		return false
	}
	for _, uri := range uris {
		l.mu.Lock()
		doc := l.docs[uri]
		version := 0
		if doc != nil {
			version = doc.version
		}
		l.mu.Unlock()
		if doc == nil {
			continue
		}
		ask := l.askDocument
		if !has(l.can.Diagnostic) {
			ask = l.askTSServer
		}
		list, err := ask(ctx, uri)
		if err != nil {
			return false
		}
		l.server.heard()
		l.publish(publication{uri, &version, list})
	}
	return true
}

func (l *live) askDocument(ctx context.Context, uri string) ([]diagnostic, error) {
	var report struct {
		Items []diagnostic `json:"items"`
	}
	err := l.request(ctx, "textDocument/diagnostic", map[string]any{"textDocument": documentID{URI: uri}}, &report)
	return report.Items, err
}

func (l *live) askTSServer(ctx context.Context, uri string) ([]diagnostic, error) {
	path, _ := PathOf(uri)
	var list []diagnostic
	for _, command := range []string{"syntacticDiagnosticsSync", "semanticDiagnosticsSync"} {
		var response struct {
			Body []struct {
				Start    struct{ Line, Offset int }
				Text     string
				Category string
			}
		}
		err := l.request(ctx, "workspace/executeCommand", map[string]any{"command": tsserver, "arguments": []any{command, map[string]any{"file": path}}}, &response)
		if err != nil {
			return nil, err
		}
		for _, d := range response.Body {
			if d.Category == "error" {
				at := position{max(d.Start.Line-1, 0), max(d.Start.Offset-1, 0)}
				list = append(list, diagnostic{span{at, at}, severityError, d.Text})
			}
		}
	}
	return list, nil
}
