package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"unicode/utf8"
)

// form is how a response is sent.
type form int

const (
	formOther form = iota
	formStream
	formBody
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
		return formBody
	}
	switch field, _, found := strings.Cut(string(start), ":"); field {
	case "", "data", "event", "id", "retry":
		if found {
			return formStream
		}
	}
	return formOther
}

// longLineError is what a stream ends with that has an event of more bytes.
type longLineError int

func (e longLineError) Error() string {
	return fmt.Sprintf("a line of the stream is too long: more than %d bytes", int(e))
}

// events frames a stream of server-sent events (WHATWG HTML, section 9.2.6).
// Lines end with LF or CR LF; an event that the server forgot to end with an
// empty line is one too, unless the stream broke. What is no UTF-8 becomes
// U+FFFD, as there.
type events struct {
	body *bufio.Reader
	most int    // bytes of a line, and of the data of an event
	long []byte // a line that the reader's buffer can't hold
	kind string
	data []byte // not used again
	err  error  // why the stream broke; nil at its end
}

func newEvents(body *bufio.Reader, most int) *events { return &events{body: body, most: most} }

// next goes to the next event that has data.
func (e *events) next() bool {
	e.kind, e.data = "", nil
	for {
		line, err := e.line()
		if err != nil && !errors.Is(err, io.EOF) {
			e.err = err
			return false
		}
		if len(e.data)+len(line) > e.most {
			e.err = longLineError(e.most)
			return false
		}
		if len(line) > 0 {
			e.field(line)
		} else if e.complete() {
			return true
		} else {
			e.kind, e.data = "", nil
		}
		if err != nil {
			return e.complete()
		}
	}
}

// line reads a line, which is valid until the next one is read, without its end.
// A long comment is cut off.
// It looks at each byte once, in whatever pieces they come.
func (e *events) line() ([]byte, error) {
	e.long = e.long[:0]
	for {
		chunk, err := e.body.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if !full && len(e.long) == 0 {
			return unended(chunk), err
		}
		if len(e.long) > 0 && e.long[0] == ':' {
			chunk = nil // of a comment, nothing is kept
		}
		if len(e.long)+len(chunk) > e.most {
			return nil, longLineError(e.most)
		}
		e.long = append(e.long, chunk...)
		if !full {
			return unended(e.long), err
		}
	}
}

func unended(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// complete tidies the data up and reports whether there is any.
func (e *events) complete() bool {
	e.data = valid(bytes.TrimSpace(e.data))
	return len(e.data) > 0
}

// valid is data with U+FFFD in place of what is no UTF-8.
func valid(data []byte) []byte {
	if utf8.Valid(data) {
		return data
	}
	return bytes.ToValidUTF8(data, []byte("\uFFFD"))
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
