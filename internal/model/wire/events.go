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

// form is the encoding of a response.
type form int

const (
	formOther form = iota
	formStream
	formBody
)

// formOf uses the content type of an event stream, or else the start of the
// body: some servers label their streams as plain text or JSON, and some don't
// stream although requested.
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
			return formStream // which gets the same error
		}
		if b == ' ' || b == '\n' || b == '\r' || b == '\t' {
			continue
		}
		_ = body.UnreadByte() // it was just read
		break
	}
	start, _ := body.Peek(len("retry:")) // the body may be shorter
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

// longLineError is the error of a stream with an event of more bytes.
type longLineError int

func (e longLineError) Error() string {
	return fmt.Sprintf("a line of the stream is too long: more than %d bytes", int(e))
}

// events parses a stream of server-sent events (WHATWG HTML, section 9.2.6).
// Lines end with LF or CR LF. A last event without an empty line after it is
// accepted unless the stream broke. Invalid UTF-8 is replaced by U+FFFD, as specified
// there.
type events struct {
	body *bufio.Reader
	most int    // bytes of a line, and of the data of an event
	long []byte // a line longer than the reader's buffer
	kind string
	data []byte // not reused
	err  error  // why the stream broke; nil at its end
}

func newEvents(body *bufio.Reader, most int) *events { return &events{body: body, most: most} }

// next advances to the next event with data.
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

// line reads a line without its terminator. It is valid until the next call.
// Long comments are truncated. Each byte is read once, regardless of the size of chunks.
func (e *events) line() ([]byte, error) {
	e.long = e.long[:0]
	for {
		chunk, err := e.body.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if !full && len(e.long) == 0 {
			return unended(chunk), err
		}
		if len(e.long) > 0 && e.long[0] == ':' {
			chunk = nil // comments are dropped
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

// complete trims white space, replaces invalid UTF-8, and reports whether there is data.
func (e *events) complete() bool {
	e.data = valid(bytes.TrimSpace(e.data))
	return len(e.data) > 0
}

// valid replaces invalid UTF-8 in data by U+FFFD.
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
