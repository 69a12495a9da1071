package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/textcut"
)

// Limits of what a server makes of memory.
const (
	maxOpen        = 100  // documents
	maxFiles       = 5000 // with diagnostics
	maxDiagnostics = 1000 // of a file
	maxText        = 2000 // length of a diagnostic's message
)

// live is one process of a server.
type live struct {
	server  *Server
	service *proc.Service
	stream  *stream
	conn    *jsonrpc2.Conn
	can     capabilities
	ids     atomic.Uint64
	closing sync.Once

	syncing sync.Mutex // orders notifications about documents

	mu    sync.Mutex
	docs  map[string]*document // that are open, by URI
	found map[string]*findings // by URI, of files in the workspace
	uses  int                  // of documents, so far
	news  chan struct{}        // closed with the next diagnostics

	logged string // the last error that the server logged, one line
	errors int    // that it logged so far
}

// document is a file that the server was told to be open.
type document struct {
	version int
	text    string
	used    int // when it was last used
}

// findings are the last diagnostics of a file.
type findings struct {
	list    []diagnostic
	current bool // published after the server got the present content
}

func newLive(s *Server, service *proc.Service) *live {
	l := &live{server: s, service: service, docs: map[string]*document{}, found: map[string]*findings{}, news: make(chan struct{})}
	l.stream = newStream(service, s.config.Now, func(text string) {
		s.config.Notify(Notice{Noise, textcut.Head(text, maxShown, "...")})
	})
	l.conn = jsonrpc2.NewConn(s.life, l.stream, l, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	return l
}

// works reports whether the process can be used.
func (l *live) works() bool {
	select {
	case <-l.service.Ended():
		return false
	case <-l.conn.DisconnectNotify():
		return false
	default:
		return true
	}
}

// close ends the process, and waits for it and for what reads from it.
func (l *live) close() {
	l.closing.Do(func() {
		l.service.Close()
		l.conn.Close() //nolint:errcheck // it may be closed
	})
	<-l.stream.closed
}

// notify sends a notification.
func (l *live) notify(method string, params any) error {
	if err := l.conn.Notify(l.server.life, method, params); err != nil {
		return l.explain(err)
	}
	return nil
}

// request sends a request and waits for the result. If ctx ends, the request is canceled.
func (l *live) request(ctx context.Context, method string, params, result any) error {
	id := jsonrpc2.ID{Num: l.ids.Add(1)}
	call, err := l.conn.DispatchCall(ctx, method, params, jsonrpc2.PickID(id))
	if err == nil {
		err = call.Wait(ctx, result)
	}
	var refused *jsonrpc2.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return errors.New(textcut.Head(textcut.OneLine(refused.Message), maxText, "..."))
	case ctx.Err() != nil && l.works():
		l.notify("$/cancelRequest", map[string]any{"id": id.Num}) //nolint:errcheck // the server can't be told
		return context.Cause(ctx)
	}
	return l.explain(err)
}

// explain returns the error of a request with what the server did.
func (l *live) explain(err error) error {
	// A server that exits closes its standard input before its end is known.
	if l.works() && !errors.Is(err, jsonrpc2.ErrClosed) && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	why := l.stream.reason()
	l.closing.Do(func() {
		l.service.Close() // waits for the end
		l.conn.Close()    //nolint:errcheck // it may be closed
	})
	if why != nil && !errors.Is(why, io.EOF) && !errors.Is(why, io.ErrUnexpectedEOF) && !errors.Is(why, syscall.EPIPE) {
		return why
	}
	return ended(l.service.Result())
}

// sync sends the content of files, as it is on disk.
func (l *live) sync(paths []string) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	for _, path := range paths {
		text, ok := l.server.read(path)
		uri := uriOf(path)
		l.mu.Lock()
		doc := l.docs[uri]
		l.uses++
		if doc != nil {
			doc.used = l.uses
		}
		l.mu.Unlock()
		switch {
		case !ok && doc != nil:
			l.drop(uri)
		case !ok:
		case doc == nil:
			l.open(path, text)
		case doc.text != text:
			l.change(uri, doc, text)
		}
	}
}

func (l *live) open(path, text string) {
	uri := uriOf(path)
	l.mu.Lock()
	l.docs[uri] = &document{version: 1, text: text, used: l.uses}
	l.stale(uri)
	oldest := ""
	if len(l.docs) > maxOpen {
		oldest = slices.MinFunc(slices.Collect(maps.Keys(l.docs)), func(a, b string) int { return cmp.Compare(l.docs[a].used, l.docs[b].used) })
	}
	l.mu.Unlock()
	if oldest != "" {
		l.drop(oldest)
	}
	l.notify("textDocument/didOpen", map[string]any{ //nolint:errcheck // it ended, which its next use notices
		"textDocument": map[string]any{"uri": uri, "languageId": languageOf(path), "version": 1, "text": text},
	})
}

func (l *live) change(uri string, doc *document, text string) {
	l.mu.Lock()
	doc.version++
	doc.text = text
	l.stale(uri)
	id := documentID{uri, doc.version}
	l.mu.Unlock()
	l.notify("textDocument/didChange", map[string]any{"textDocument": id, "contentChanges": []any{map[string]any{"text": text}}}) //nolint:errcheck // as above
	l.notify("textDocument/didSave", map[string]any{"textDocument": documentID{URI: uri}})                                        //nolint:errcheck // as above
}

// stale notes that the diagnostics of a file are for earlier content.
func (l *live) stale(uri string) {
	if f := l.found[uri]; f != nil {
		f.current = false
	}
}

// drop closes a document.
func (l *live) drop(uri string) {
	l.mu.Lock()
	delete(l.docs, uri)
	l.mu.Unlock()
	l.notify("textDocument/didClose", map[string]any{"textDocument": documentID{URI: uri}}) //nolint:errcheck // as above
}

// changed notifies the server of changed files on disk, and sends the content of those that are
// open.
func (l *live) changed(files map[string]ChangeKind) {
	var events []fileEvent
	var open []string
	l.mu.Lock()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		uri := uriOf(path)
		events = append(events, fileEvent{uri, files[path]})
		if l.docs[uri] != nil {
			open = append(open, path)
		}
	}
	l.mu.Unlock()
	l.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events}) //nolint:errcheck // as above
	l.sync(open)
}

// publish stores the diagnostics of a file. Those for earlier content are ignored.
func (l *live) publish(p publication) {
	path, ok := PathOf(p.URI)
	if !ok {
		return
	}
	if _, ok = relative(l.server.config.Root.Name(), path); !ok {
		return
	}
	uri := uriOf(path) // servers encode URIs in several ways
	for i := range p.Diagnostics[:min(len(p.Diagnostics), maxDiagnostics)] {
		p.Diagnostics[i].Message = textcut.Head(p.Diagnostics[i].Message, maxText, "...")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	doc := l.docs[uri]
	switch {
	case doc != nil && p.Version != nil && *p.Version != doc.version:
		return
	case doc == nil && len(l.found) >= maxFiles && l.found[uri] == nil:
		return
	}
	l.found[uri] = &findings{p.Diagnostics[:min(len(p.Diagnostics), maxDiagnostics)], true}
	close(l.news)
	l.news = make(chan struct{})
}

// notified handles a notification of the server.
func (l *live) notified(method string, params *json.RawMessage) {
	if params == nil {
		return
	}
	switch method {
	case "textDocument/publishDiagnostics":
		var p publication
		if json.Unmarshal(*params, &p) == nil {
			l.server.heard()
			l.publish(p)
		}
	case "window/logMessage", "window/showMessage":
		var p struct {
			Type    int    `json:"type"`
			Message string `json:"message"`
		}
		if json.Unmarshal(*params, &p) == nil && p.Type == severityError {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.logged, l.errors = textcut.Head(textcut.OneLine(p.Message), maxShown, "..."), l.errors+1
		}
	}
}

// logs returns the last error that the server logged, and how many there were so far.
func (l *live) logs() (last string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logged, l.errors
}

// Handle implements jsonrpc2.Handler. It never changes files, and refuses questions.
func (l *live) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if r.Notif {
		l.notified(r.Method, r.Params)
		return
	}
	var result any
	switch r.Method {
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create":
	case "workspace/configuration":
		result = settings(l.server.config.Initialization, r.Params)
	case "workspace/workspaceFolders":
		result = []any{map[string]any{"uri": uriOf(l.server.config.Root.Name()), "name": "workspace"}}
	case "workspace/applyEdit":
		l.server.config.Notify(Notice{Refused, r.Method})
		result = map[string]any{"applied": false, "failureReason": "not supported: this is an unattended run"}
	default:
		l.server.config.Notify(Notice{Refused, r.Method})
		refusal := &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: textcut.Head(r.Method, maxShown, "...") + " is not supported: this is an unattended run"}
		conn.ReplyWithError(ctx, r.ID, refusal) //nolint:errcheck // the server can't be told
		return
	}
	conn.Reply(ctx, r.ID, result) //nolint:errcheck // the server can't be told
}
