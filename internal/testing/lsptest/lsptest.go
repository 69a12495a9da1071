// Package lsptest is a language server for tests, with chosen faults. The files that it
// serves state what it is to find in them:
//
//	ERROR text          an error in this line
//	WARNING text        a warning
//	ELSEWHERE FILE text an error in the first line of another file
//	AT FILE             what definitions, references and calls in this line lead to
//	READ, WRITE, CONNECT, ENV, with an argument: hovering over it tries that
//	CRASH               it exits with code 7
//	DEAF                it closes its standard input, and exits with code 7 after a second
package lsptest

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type server struct {
	faults  map[string]bool
	environ func() []string
	exit    func(code int)
	root    string
	asked   int
	docs    map[string]string
	stale   map[string]bool // other files that have errors
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RootPath     string `json:"rootPath"`
		TextDocument struct {
			URI     string `json:"uri"`
			Version int    `json:"version"`
			Text    string `json:"text"`
		} `json:"textDocument"`
		ContentChanges []struct {
			Text string `json:"text"`
		} `json:"contentChanges"`
		Position struct{ Line, Character int } `json:"position"`
		Query    string                        `json:"query"`
		Item     struct{ URI string }          `json:"item"`
		Changes  []struct {
			URI  string `json:"uri"`
			Type int    `json:"type"`
		} `json:"changes"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type object = map[string]any

// Main runs the server with flags, and returns the exit code. environ and exit are those of
// package os.
//
//	-fault LIST  exit, silent, deaf, mute, hang, stale, unversioned, pull, noise, huge, flood, asks, stubborn, logs, late
func Main(args []string, environ func() []string, exit func(code int)) int {
	flags := flag.NewFlagSet("language-server", flag.ExitOnError)
	faults := flags.String("fault", "", "")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	s := &server{environ: environ, exit: exit, faults: map[string]bool{}, docs: map[string]string{}, stale: map[string]bool{}}
	for f := range strings.SplitSeq(*faults, ",") {
		s.faults[f] = true
	}
	switch {
	case s.faults["exit"]:
		fmt.Fprintln(os.Stderr, "cannot find the toolchain")
		return 4
	case s.faults["deaf"]:
		time.Sleep(time.Hour)
	case s.faults["noise"]:
		fmt.Print("Starting up\r\n\r\nContent-Length: x\r\n\r\nContent-Length: 9\r\n\r\nnot JSON!Content-Length: 2\r\n\r\n[]no newline")
	}
	if s.faults["stubborn"] {
		signal.Ignore(syscall.SIGTERM)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		m, err := read(in)
		if err != nil {
			break
		}
		s.handle(m)
	}
	if s.faults["stubborn"] {
		time.Sleep(time.Hour)
	}
	return 0
}

func read(in *bufio.Reader) (m message, err error) {
	size := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return m, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if size, err = strconv.Atoi(n); err != nil {
				return m, err
			}
		}
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(in, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

func send(m object) {
	m["jsonrpc"] = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	fmt.Printf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func publish(params any) { send(object{"method": "textDocument/publishDiagnostics", "params": params}) }

func (s *server) handle(m message) {
	doc := m.Params.TextDocument
	switch m.Method {
	case "": // a response
		fmt.Fprintf(os.Stderr, "response %s %s%s\n", m.ID, m.Result, m.Error)
	case "initialize":
		s.initialize(m)
	case "textDocument/didOpen":
		s.docs[doc.URI] = doc.Text
		s.ask()
		s.publish(doc.URI, doc.Version)
	case "textDocument/didChange":
		old := s.docs[doc.URI]
		s.docs[doc.URI] = m.Params.ContentChanges[0].Text
		if s.faults["stale"] {
			s.docs[doc.URI], old = old+"\nERROR from the future", s.docs[doc.URI]
			s.publish(doc.URI, doc.Version-1)
			s.docs[doc.URI] = old
		}
		s.publish(doc.URI, doc.Version)
	case "textDocument/didClose":
		delete(s.docs, doc.URI)
	case "workspace/didChangeWatchedFiles":
		for _, c := range m.Params.Changes {
			fmt.Fprintf(os.Stderr, "changed %d %s\n", c.Type, filepath.Base(c.URI))
		}
	default:
		if m.ID != nil {
			s.respond(m)
		}
	}
}

func (s *server) initialize(m message) {
	s.root = m.Params.RootPath
	if s.faults["silent"] {
		return
	}
	can := object{
		"textDocumentSync": 1, "definitionProvider": true, "referencesProvider": object{}, "hoverProvider": true, "documentSymbolProvider": true,
		"workspaceSymbolProvider": true, "callHierarchyProvider": true, "implementationProvider": false,
	}
	if s.faults["pull"] {
		can["diagnosticProvider"] = object{}
	}
	if s.faults["tsserver"] {
		can["executeCommandProvider"] = object{"commands": []string{"typescript.tsserverRequest"}}
	}
	send(object{"id": m.ID, "result": object{"capabilities": can, "serverInfo": object{"name": "lsptest", "version": "1.2.3"}}})
}

// ask sends requests that are to be refused.
func (s *server) ask() {
	if !s.faults["asks"] || s.asked > 0 {
		return
	}
	for _, method := range []string{"workspace/applyEdit", "workspace/configuration", "client/registerCapability", "window/showMessageRequest", "strange/thing"} {
		s.asked++
		send(object{"id": s.asked, "method": method, "params": object{"items": []object{{}, {}}, "edit": object{"changes": object{}}}})
	}
}

// publish publishes the diagnostics of a file, and of those that it names.
func (s *server) publish(uri string, version int) {
	if strings.Contains(s.docs[uri], "DEAF") {
		os.Stdin.Close()
		time.Sleep(time.Second)
		s.exit(7)
	}
	if strings.Contains(s.docs[uri], "CRASH") {
		fmt.Fprintln(os.Stderr, "out of luck")
		s.exit(7)
	}
	switch {
	case s.faults["mute"] || s.faults["pull"]:
		return
	case s.faults["logs"]:
		send(object{"method": "window/logMessage", "params": object{"type": 1, "message": "cannot read\nsettings"}})
		publish(object{"uri": uri, "version": version, "diagnostics": []object{}})
		return
	case s.faults["late"] && !strings.Contains(s.docs[uri], "LOADED"):
		return
	case s.faults["huge"]:
		fmt.Printf("Content-Length: %d\r\n\r\n", 1<<30)
		return
	case s.faults["flood"]:
		for i := range 6000 {
			publish(object{"uri": fmt.Sprintf("file://%s/flood%d", s.root, i), "diagnostics": s.find("ERROR flood\n", "ERROR")})
		}
		publish(object{"uri": "file:///etc/passwd", "diagnostics": s.find("ERROR outside\n", "ERROR")})
		publish(object{"uri": 4711})
	}
	elsewhere := map[string]string{}
	for line := range strings.Lines(s.docs[uri]) {
		if rest, ok := strings.CutPrefix(line, "ELSEWHERE "); ok {
			name, text, _ := strings.Cut(rest, " ")
			elsewhere[name] += "ERROR " + text
		}
	}
	for name := range s.stale {
		if elsewhere[name] == "" {
			elsewhere[name] = "fine"
		}
	}
	for name, text := range elsewhere {
		s.stale[name] = true
		publish(object{"uri": "file://" + filepath.Join(s.root, name), "diagnostics": s.find(text, "ERROR")})
	}
	p := object{"uri": uri, "version": version, "diagnostics": append(s.find(s.docs[uri], "ERROR"), s.find(s.docs[uri], "WARNING")...)}
	if s.faults["unversioned"] {
		delete(p, "version")
	}
	publish(p)
}

// find returns a diagnostic for each line that starts with a word.
func (s *server) find(text, word string) []object {
	list := []object{}
	severity := map[string]int{"ERROR": 1, "WARNING": 2}[word]
	n := 0
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			list = append(list, object{"range": span(n, 6), "severity": severity, "message": strings.TrimSpace(rest)})
		}
		n++
	}
	return list
}

func span(line, column int) object {
	at := object{"line": line, "character": column}
	return object{"start": at, "end": at}
}

// respond responds to a request about a line.
func (s *server) respond(m message) {
	if s.faults["hang"] {
		return
	}
	uri := m.Params.TextDocument.URI
	word, rest := s.line(uri, m.Params.Position.Line)
	location := object{"uri": "file://" + filepath.Join(s.root, rest), "range": span(0, 0)}
	var result any
	switch m.Method {
	case "textDocument/diagnostic":
		result = object{"kind": "full", "items": s.find(s.docs[uri], "ERROR")}
	case "textDocument/definition":
		if word == "AT" {
			result = location
		}
	case "textDocument/references":
		result = []any{location, object{"uri": uri, "range": span(m.Params.Position.Line, 0)}}
	case "textDocument/hover":
		result = object{"contents": object{"kind": "markdown", "value": s.try(word, rest)}}
	case "textDocument/documentSymbol":
		result = []any{object{"name": rest, "kind": 12, "range": span(0, 0), "selectionRange": span(0, 0)}}
	case "workspace/symbol":
		list := []any{}
		for name := range strings.FieldsSeq(m.Params.Query) {
			list = append(list, object{"name": "in " + name, "kind": 12, "location": object{"uri": "file://" + filepath.Join(s.root, name), "range": span(0, 0)}})
		}
		result = list
	case "textDocument/prepareCallHierarchy":
		result = []any{object{"name": rest, "kind": 12, "uri": uri, "range": span(0, 0), "selectionRange": span(0, 0)}}
	case "callHierarchy/incomingCalls":
		result = []any{object{"from": object{"name": "caller", "uri": m.Params.Item.URI}, "fromRanges": []any{}}}
	case "callHierarchy/outgoingCalls":
		result = []any{object{"to": object{"name": "callee", "uri": m.Params.Item.URI}, "fromRanges": []any{}}}
	default:
		send(object{"id": m.ID, "error": object{"code": -32601, "message": "no such method: " + m.Method}})
		return
	}
	send(object{"id": m.ID, "result": result})
}

// line returns the first word of a line, and the rest.
func (s *server) line(uri string, n int) (word, rest string) {
	lines := strings.Split(s.docs[uri], "\n")
	if n < 0 || n >= len(lines) {
		return "", ""
	}
	word, rest, _ = strings.Cut(lines[n], " ")
	return word, rest
}

// try does what a line states, and returns what happened.
func (s *server) try(word, argument string) string {
	var err error
	text := ""
	switch word {
	case "READ":
		var data []byte
		data, err = os.ReadFile(argument)
		text = string(data)
	case "WRITE":
		err = os.WriteFile(argument, []byte("from the language server\n"), 0o644)
		text = "written"
	case "CONNECT":
		var conn net.Conn
		dialer := net.Dialer{Timeout: time.Second}
		if conn, err = dialer.DialContext(context.Background(), "tcp", argument); err == nil {
			err = conn.Close()
			text = "connected"
		}
	case "ENV":
		text = strings.Join(s.environ(), "\n")
	}
	if err != nil {
		return err.Error()
	}
	return word + " " + text
}
