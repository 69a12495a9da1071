package mcptest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Remote is the server over HTTP: an http.Handler. In addition to the tools of the list it has
// those whose names start with "http.", which disturb the transport.
type Remote struct {
	Key string // that Authorization must have as a bearer; "" for none
	// JSON makes responses JSON texts instead of streams of events.
	JSON bool
	// Waiting gets an element when a call of http.wait was accepted, which waits for another.
	Waiting chan struct{}

	args    []string
	environ func() []string
	asked   chan string

	mu       sync.Mutex
	sessions map[string]bool
	opened   int
	deleted  int
	notes    strings.Builder
	listen   []chan string // streams for messages without a request
}

// NewRemote returns a server with the flags of [Main]. environ is that of package os.
func NewRemote(environ func() []string, args ...string) (*Remote, error) {
	s, err := newServer(args)
	if err != nil {
		return nil, err
	}
	return &Remote{args: args, environ: environ, asked: s.asked, sessions: map[string]bool{}, Waiting: make(chan struct{})}, nil
}

// Write stores what the server logs.
func (r *Remote) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notes.Write(text)
}

// Notes returns what the server logged.
func (r *Remote) Notes() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notes.String()
}

// Sessions returns how many sessions were opened, and deleted by their client.
func (r *Remote) Sessions() (opened, deleted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opened, r.deleted
}

// Expire ends all sessions.
func (r *Remote) Expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.sessions)
}

// SetKey changes Key while the server is used.
func (r *Remote) SetKey(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Key = key
}

// Say sends a message to all streams of clients, and returns their number.
func (r *Remote) Say(message string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, to := range r.listen {
		to <- message
	}
	return len(r.listen)
}

// ServeHTTP implements http.Handler.
func (r *Remote) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	key := r.Key
	r.mu.Unlock()
	if key != "" && req.Header.Get("Authorization") != "Bearer "+key {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintln(w, "<html>who are you? You sent "+req.Header.Get("Authorization")+"</html>")
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	var m message
	json.Unmarshal(body, &m) //nolint:errcheck // an empty one is refused
	id := req.Header.Get("Mcp-Session-Id")
	r.mu.Lock()
	known := r.sessions[id]
	if m.Method == "initialize" {
		r.opened++
		id = fmt.Sprintf("session-%d", r.opened)
		r.sessions[id], known = true, true
		w.Header().Set("Mcp-Session-Id", id)
	}
	if req.Method == http.MethodDelete && known {
		r.deleted++
		delete(r.sessions, id)
	}
	r.mu.Unlock()
	switch {
	case !known:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`)
	case req.Method == http.MethodDelete:
	case req.Method == http.MethodGet:
		r.serveStream(w, req)
	case m.ID == nil || m.Method == "":
		r.server(func(string) error { return nil }).handle(body) //nolint:contextcheck // as over pipes
		w.WriteHeader(http.StatusAccepted)
	default:
		r.respond(w, req, m, body)
	}
}

// server returns a server for one request, given where its messages go.
func (r *Remote) server(write func(string) error) *server {
	s, err := newServer(r.args)
	if err != nil {
		panic(err)
	}
	s.more = []string{"http.key", "http.expire", "http.cut", "http.redirect"}
	s.asked, s.log, s.write, s.environ, s.exit = r.asked, r, write, r.environ, func(int) { panic(http.ErrAbortHandler) }
	return s
}

// respond serves a request.
func (r *Remote) respond(w http.ResponseWriter, req *http.Request, m message, body []byte) {
	var p struct {
		Name      string
		Arguments struct{ Text string }
	}
	json.Unmarshal(m.Params, &p) //nolint:errcheck // no tool
	event := func(text string) error {
		w.Header().Set("Content-Type", "text/event-stream")
		_, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
		w.(http.Flusher).Flush()
		return err
	}
	responded := false
	s := r.server(func(text string) error {
		response := strings.Contains(text, `"result":`) || strings.Contains(text, `"error":`)
		responded = responded || response
		if !r.JSON {
			return event(text)
		}
		if !response {
			return nil
		}
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, text)
		return err
	})
	switch p.Name {
	case "http.status":
		code, err := strconv.Atoi(p.Arguments.Text)
		if err != nil {
			panic(err)
		}
		w.WriteHeader(code)
		fmt.Fprint(w, "<html>", strings.Repeat("a long page ", 100), "</html>")
		return
	case "http.refuse":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request:\nno"},"id":null}`)
		return
	case "http.type":
		w.Header().Set("Content-Type", p.Arguments.Text)
		fmt.Fprint(w, "<html>")
		return
	case "http.redirect":
		http.Redirect(w, req, p.Arguments.Text, http.StatusTemporaryRedirect)
		return
	case "http.key":
		s.text(m.ID, req.Header.Get("Authorization"), false)
		return
	case "http.cut":
		event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`) //nolint:errcheck // the client may be gone
		panic(http.ErrAbortHandler)
	case "http.noise":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": a comment\n\nevent: other\ndata: {}\n\ndata: Server is busy\n\ndata: {\"jsonrpc\":\ndata: \"2.0\",\"method\":\"notifications/strange\"}\r\n\r\nid\nretry: soon\n\n")
		s.text(m.ID, "after the noise", false)
		return
	case "http.resume": // the response comes with the stream that resumes this one
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: %s\nretry: 1\ndata:\n\n", m.ID)
		return
	case "http.huge":
		r.event33(w)
		return
	case "http.expire":
		r.Expire()
	case "http.wait":
		r.Waiting <- struct{}{}
		<-r.Waiting
	}
	if m.Method == "tools/call" {
		s.call(m) //nolint:contextcheck // as over pipes
	} else {
		s.handle(body) //nolint:contextcheck // as over pipes
	}
	if !responded {
		<-req.Context().Done()
	}
}

// event33 sends an event, or a JSON text, that is too large.
func (r *Remote) event33(w http.ResponseWriter) {
	kind, start := "text/event-stream", "data: "
	if r.JSON {
		kind, start = "application/json", ""
	}
	w.Header().Set("Content-Type", kind)
	fmt.Fprint(w, start, `{"jsonrpc":"2.0","id":1,"result":"`)
	mega := strings.Repeat("y", 1<<20)
	for range 33 {
		if _, err := io.WriteString(w, mega); err != nil {
			return
		}
	}
	fmt.Fprint(w, "\"}\n\n")
}

// serveStream serves a stream without a request, or one that resumes that of http.resume.
func (r *Remote) serveStream(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if id := req.Header.Get("Last-Event-ID"); id != "" {
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"resumed\"}]}}\n\n", id)
		return
	}
	messages := make(chan string, 8)
	r.mu.Lock()
	r.listen = append(r.listen, messages)
	r.mu.Unlock()
	w.(http.Flusher).Flush()
	for {
		select {
		case m := <-messages:
			fmt.Fprintf(w, "data: %s\n\n", m)
			w.(http.Flusher).Flush()
		case <-req.Context().Done():
			return
		}
	}
}
