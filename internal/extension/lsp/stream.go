package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/jsontext"
)

const (
	maxMessage = 32 << 20 // of a server, in bytes
	maxValues  = 2 << 20  // in a message: jsonrpc2 decodes each, and its result again
	maxHeader  = 4 << 10  // length of a line before a message that is read; the rest is ignored
	maxShown   = 200      // bytes of output that is no message, in notices
)

// writeTimeout is how long a server may not read its input while a message is sent.
const writeTimeout = 10 * time.Second

// frames reads messages: a header with Content-Length, and a JSON object. What is neither
// is ignored, as some servers print texts to their standard output.
type frames struct {
	in    *bufio.Reader
	noise func(text string)
}

// next returns the next message's text.
func (f *frames) next() ([]byte, error) {
	size := -1
	for {
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		if line == "" && size >= 0 {
			return f.body(size)
		}
		if n, ok := contentLength(line); ok {
			if n > maxMessage {
				return nil, fmt.Errorf("message exceeds %d MiB", maxMessage>>20)
			}
			size = n
		} else if line != "" && !strings.HasPrefix(line, "Content-Type:") {
			f.noise(line)
		}
	}
}

// line returns a line without its end, truncated.
func (f *frames) line() (string, error) {
	var line []byte
	for {
		chunk, err := f.in.ReadSlice('\n')
		line = append(line, chunk[:min(len(chunk), maxHeader-len(line))]...)
		switch {
		case err == nil:
			return strings.TrimRight(string(line), "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// contentLength returns the number in a Content-Length header. Text before it in the line
// was printed without a newline.
func contentLength(line string) (int, bool) {
	const name = "content-length:"
	line = strings.ToLower(line)
	i := strings.LastIndex(line, name)
	if i < 0 {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[i+len(name):]))
	return n, err == nil && n >= 0
}

// body reads a message of a known size. It allocates what arrives, not what was announced.
func (f *frames) body(size int) ([]byte, error) {
	var body bytes.Buffer
	if _, err := io.CopyN(&body, f.in, int64(size)); err != nil {
		return nil, fmt.Errorf("read a message of %d bytes: %w", size, err)
	}
	return body.Bytes(), nil
}

// stream is the connection to a server, for package jsonrpc2.
type stream struct {
	service *proc.Service
	frames  frames
	now     func() time.Time

	writing sync.Mutex
	closed  chan struct{} // after the last message was read

	mu     sync.Mutex
	failed error // why reading or writing ended
}

func newStream(service *proc.Service, now func() time.Time, noise func(string)) *stream {
	return &stream{service: service, frames: frames{bufio.NewReaderSize(service, 64<<10), noise}, now: now, closed: make(chan struct{})}
}

// ReadObject implements jsonrpc2.ObjectStream.
func (s *stream) ReadObject(v any) error {
	for {
		text, err := s.frames.next()
		if err != nil {
			s.fail(err)
			return io.EOF // the reason is this stream's
		}
		if jsontext.Values(text) > maxValues {
			s.fail(fmt.Errorf("message has more than %d values", maxValues))
			return io.EOF
		}
		if err := json.Unmarshal(text, v); err == nil {
			return nil
		}
		s.frames.noise(string(text[:min(len(text), maxShown)]))
	}
}

// WriteObject implements jsonrpc2.ObjectStream.
func (s *stream) WriteObject(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.service.SetWriteDeadline(s.now().Add(writeTimeout)) //nolint:errcheck // pipes have deadlines
	if _, err = s.service.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(text)), text...)); err != nil {
		s.fail(fmt.Errorf("send a message: %w", err))
	}
	return err
}

// Close implements jsonrpc2.ObjectStream. The process is closed by the stream's owner.
func (s *stream) Close() error {
	close(s.closed)
	return nil
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

// reason returns why the connection ended; nil if it has not.
func (s *stream) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
