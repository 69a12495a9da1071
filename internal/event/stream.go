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

// Sink takes events in the order of the stream. A Sink is called by one
// goroutine at a time and must not keep or change the event's payload.
type Sink interface {
	Emit(Event) error
}

// SinkFunc makes a function a Sink.
type SinkFunc func(Event) error

// Emit calls f.
func (f SinkFunc) Emit(e Event) error { return f(e) }

// Stream numbers and dates events and hands each to every sink, in one order
// for all. It is safe for concurrent use. The first error of a sink is kept
// and that sink is not called again: one full disk must not silence the rest.
type Stream struct {
	mu    sync.Mutex
	now   func() time.Time
	seq   int64
	sinks []Sink
	errs  []error
}

// NewStream makes a stream that takes the time from now.
func NewStream(now func() time.Time, sinks ...Sink) *Stream {
	return &Stream{now: now, sinks: sinks, errs: make([]error, len(sinks))}
}

// Emit sends one event to every sink. Deltas get no sequence number, because
// they are not stored and the stored stream has no gaps.
func (s *Stream) Emit(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Type != DeltaCame {
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

// Err returns what the sinks failed with, joined; nil when none did.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

// JSONL writes each event but deltas as one line of JSON, in one Write call
// each, so that a kill can tear the last line only.
func JSONL(w io.Writer) Sink {
	return SinkFunc(func(e Event) error {
		if e.Type == DeltaCame {
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

// maxLine bounds one line of a stored stream, in bytes: far above any event
// that millhand writes, low enough that a damaged file can't eat the memory.
const maxLine = 64 << 20

// Read calls fn for every event of a stored stream. A torn last line, as a
// kill leaves it, is dropped; damage anywhere else is an error that names the
// line.
func Read(r io.Reader, fn func(Event) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return nil // what follows the last newline was never finished
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

// readLine returns the next line without its newline, or io.EOF if the input
// ends before one.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
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
