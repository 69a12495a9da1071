package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"strings"
)

// form is how an answer is sent.
type form int

const (
	formOther form = iota
	formStream
	formWhole
)

// formOf goes by the content type where that is an event stream's, else by how
// the body begins: there are servers that label their streams as plain text or
// JSON, and such as do not stream though they were asked to.
func formOf(contentType string, body *bufio.Reader) form {
	if media, _, _ := mime.ParseMediaType(contentType); media == "text/event-stream" {
		return formStream
	}
	for {
		b, err := body.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return formOther
		case err != nil:
			return formStream // which meets the error again
		}
		if b == ' ' || b == '\n' || b == '\r' || b == '\t' {
			continue
		}
		_ = body.UnreadByte() // it was just read
		break
	}
	start, _ := body.Peek(len("retry:")) // a shorter body is fine
	if start[0] == '{' {
		return formWhole
	}
	switch field, _, found := strings.Cut(string(start), ":"); field {
	case "", "data", "event", "id", "retry":
		if found {
			return formStream
		}
	}
	return formOther
}

// longestLine bounds a line of a stream, in bytes.
const longestLine = 32 << 20

// events frames a stream of server-sent events (WHATWG HTML, section 9.2.6).
// Lines end with LF or CR LF; an event that the server forgot to end with an
// empty line is one too, unless the stream broke.
type events struct {
	lines *bufio.Scanner
	kind  string
	data  []byte // not used again
}

func newEvents(body io.Reader) *events {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, longestLine)
	return &events{lines: lines}
}

// next goes to the next event that has data.
func (e *events) next() bool {
	e.kind, e.data = "", nil
	for e.lines.Scan() {
		line := e.lines.Bytes()
		if len(line) == 0 {
			if e.whole() {
				return true
			}
			e.kind, e.data = "", nil
			continue
		}
		e.field(line)
	}
	return e.lines.Err() == nil && e.whole()
}

// whole tidies the data up and reports whether there is any.
func (e *events) whole() bool {
	e.data = bytes.TrimSpace(e.data)
	return len(e.data) > 0
}

func (e *events) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.kind = string(value)
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	}
}

func (e *events) err() error { return e.lines.Err() }
