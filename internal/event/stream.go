package event

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/money"
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

// Continue makes the next event follow the one with a number. It is called before Emit.
func (s *Stream) Continue(seq int64) { s.seq = seq }

// Emit sends one event to every sink.
func (s *Stream) Emit(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	e.Seq, e.Time = s.seq, s.now().UTC()
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

// JSONL writes each event as one line of JSON with a checksum, in one
// Write call each, so that a kill can truncate only the last line.
func JSONL(w io.Writer) Sink {
	return SinkFunc(func(e Event) error {
		line, err := Line(e)
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write event %d: %w", e.Seq, err)
		}
		return nil
	})
}

// Line returns the line of an event, with its checksum and without its newline.
func Line(e Event) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %d: %w", e.Seq, err)
	}
	return framed(text), nil
}

// maxLine limits a line of a stored stream, in bytes: far above any event
// that millhand writes, low enough that a corrupt file can't exhaust the memory.
const maxLine = 64 << 20

// Read calls fn for every event of a stored stream. An invalid line is an error with its
// number, but not at the end, where a kill or a crash can leave one: torn is its length in
// bytes, 0 for none. Streams of earlier versions have no checksums: of these only an
// incomplete last line is torn.
func Read(r io.Reader, fn func(Event) error) (torn int, err error) {
	return ReadLines(r, func(e Event, _ []byte) error { return fn(e) })
}

// ReadLines is [Read] with the line of each event, without its newline. It is valid until fn
// returns.
func ReadLines(r io.Reader, fn func(e Event, line []byte) error) (torn int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	checked := false
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			if checked && joined(line) {
				return 0, fmt.Errorf("read event stream, line %d: %w", n, errDamaged)
			}
			return len(line), nil
		}
		if err != nil {
			return 0, fmt.Errorf("read event stream, line %d: %w", n, err)
		}
		var e Event
		text, has, err := unframed(line)
		if n == 1 {
			checked = has
		}
		if has && !checked {
			return 0, fmt.Errorf("read event stream, line 1: %w", errDamaged)
		}
		if checked && !has {
			err = errDamaged
		}
		if err == nil {
			err = json.Unmarshal(text, &e)
		}
		if err != nil {
			if _, end := in.Peek(1); checked && errors.Is(end, io.EOF) && !joined(line) {
				return len(line) + 1, nil
			}
			return 0, fmt.Errorf("read event stream, line %d: %w", n, err)
		}
		if has {
			line[len(text)-1] = frame[0] // unframed has replaced it
		}
		if e.refunds() {
			return 0, fmt.Errorf("read event stream, line %d: negative cost", n)
		}
		if err := fn(e, line); err != nil {
			return 0, err
		}
	}
}

// refunds reports whether an event has a negative cost, which no version of millhand has written: budgets that count it
// would permit to spend more.
func (e *Event) refunds() bool {
	var costs []*money.USD
	if t := e.Turn; t != nil {
		costs = append(costs, t.CostUSD, t.Reserved)
		for _, c := range []*money.Charge{t.Lost, t.Request} {
			if c != nil {
				costs = append(costs, c.CostUSD)
			}
		}
	}
	if e.JobEnd != nil {
		costs = append(costs, e.JobEnd.CostUSD)
	}
	if e.Run != nil && e.Run.Resumed != nil {
		costs = append(costs, &e.Run.Resumed.CostUSD)
	}
	return slices.ContainsFunc(costs, func(c *money.USD) bool { return c != nil && *c < 0 })
}

// frame starts the last field of a line: the length in bytes of the text before it, and
// that text's CRC-32C, both in hexadecimal.
const frame = `,"crc":"`

// castagnoli is made at its first use, as it is larger than what most commands allocate at their start.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// Prepare builds what the first event needs, in about a millisecond: the encoder of all types, and the table of checksums. The
// caller has time for it while it waits for another process.
func Prepare() {
	_, _ = Line(Event{}) // the line is of no use
}

func checksumOf(text []byte) string { return checksum(len(text), crc32.Checksum(text, castagnoli())) }

func checksum(length int, sum uint32) string { return fmt.Sprintf("%x-%08x", length, sum) }

// framed adds the checksum to a JSON object that is not empty.
func framed(object []byte) []byte {
	text := object[:len(object)-1]
	return fmt.Append(text, frame, checksumOf(text), `"}`)
}

var errDamaged = errors.New("the checksum is missing or does not fit: the file is damaged")

// unframed returns the JSON object of a line without its checksum, and whether it has one.
func unframed(line []byte) (object []byte, framed bool, err error) {
	at := bytes.LastIndex(line, []byte(frame))
	if at < 0 || !frameEnd.Match(line[at+len(frame):]) {
		return line, false, nil
	}
	if string(line[at+len(frame):]) != checksumOf(line[:at])+`"}` {
		return line, true, errDamaged
	}
	return append(line[:at], '}'), true, nil
}

// joined reports whether an invalid line starts with a valid one: the newline between them
// was changed. It reads the line once, whatever it contains.
func joined(line []byte) bool {
	var sum uint32
	for from := 0; ; {
		next := bytes.Index(line[from:], []byte(frame))
		if next < 0 {
			return false
		}
		at := from + next
		sum = crc32.Update(sum, castagnoli(), line[from:at])
		if rest, ok := bytes.CutPrefix(line[at+len(frame):], []byte(checksum(at, sum)+`"}`)); ok {
			return len(rest) > 0
		}
		sum = crc32.Update(sum, castagnoli(), line[at:at+1])
		from = at + 1
	}
}

// frameEnd matches what follows frame in a line.
var frameEnd = regexp.MustCompile(`^[0-9a-f]+-[0-9a-f]{8}"}$`)

// readLine returns the next line without its newline; at the end, an incomplete line and
// io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		chunk, err := in.ReadSlice('\n')
		line = append(line, chunk...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > maxLine:
			return nil, errors.New("line too long")
		}
	}
}
