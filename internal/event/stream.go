package event

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Sink receives events in the order of the stream. A Sink is called by one
// goroutine at a time and must not retain or modify the event's payload.
type Sink interface {
	Emit(Event) error
}

// SinkFunc is a function that implements Sink.
type SinkFunc func(Event) error

// Emit calls f.
func (f SinkFunc) Emit(e Event) error { return f(e) }

// Stream numbers events, sets their time and passes each to every sink, in the
// same order for all. It is safe for concurrent use. A sink that returned an
// error is not called again; the other sinks are.
type Stream struct {
	mu    sync.Mutex
	now   func() time.Time
	seq   int64
	sinks []Sink
	errs  []error
}

// NewStream returns a stream that reads the time from now.
func NewStream(now func() time.Time, sinks ...Sink) *Stream {
	return &Stream{now: now, sinks: sinks, errs: make([]error, len(sinks))}
}

// Emit sends one event to every sink. Deltas get no sequence number, because
// they are not stored and the stored stream has no gaps.
func (s *Stream) Emit(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type != ModelDelta {
		s.seq++
		e.Seq = s.seq
	}
	e.Time = s.now().UTC()
	for i, sink := range s.sinks {
		if s.errs[i] == nil {
			s.errs[i] = sink.Emit(e)
		}
	}
}

// Err returns the joined errors of the sinks; nil if there are none.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// JSONL writes each event except deltas as one line of JSON, in one Write call
// each, so that a kill can truncate only the last line.
func JSONL(w io.Writer) Sink {
	return SinkFunc(func(e Event) error {
		if e.Type == ModelDelta {
			return nil
		}
		line, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode event %d: %w", e.Seq, err)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write event %d: %w", e.Seq, err)
		}
		return nil
	})
}

// maxLine limits a line of a stored stream, in bytes: far above any event
// that millhand writes, low enough that a corrupt file can't exhaust the memory.
const maxLine = 64 << 20

// Read calls fn for every event of a stored stream. An incomplete last line,
// which a kill can leave, is ignored; an invalid line is an error with its number.
func Read(r io.Reader, fn func(Event) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return nil // an incomplete last line
		}
		if err != nil {
			return fmt.Errorf("read event stream, line %d: %w", n, err)
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read event stream, line %d: %w", n, err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// readLine returns the next line without its newline, or io.EOF if there is no
// further newline.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		chunk, err := in.ReadSlice('\n')
		line = append(line, chunk...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxLine:
			return nil, errors.New("line too long")
		}
	}
}
