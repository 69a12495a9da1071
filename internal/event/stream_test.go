package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
)

// clock is a time that goes on by a second at each look.
func clock() func() time.Time {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.FixedZone("CEST", 2*60*60))
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// collect gathers the events of a stored stream.
func collect(stream string) ([]Event, error) {
	events, _, err := collectTorn(stream)
	return events, err
}

// collectTorn also returns the length of a torn end.
func collectTorn(stream string) (events []Event, torn int, err error) {
	torn, err = Read(strings.NewReader(stream), func(e Event) error {
		events = append(events, e)
		return nil
	})
	return events, torn, err
}

func TestStoredStreamRoundTrip(t *testing.T) {
	cost := money.Dollar / 4
	var live []Event
	var b bytes.Buffer
	s := NewStream(clock(), SinkFunc(func(e Event) error {
		live = append(live, e)
		return nil
	}), JSONL(&b))
	s.Emit(Event{Type: RunStarted, Run: &Run{ID: "r1", Manifest: []string{"m.yaml"}, Jobs: []PlannedJob{{ID: "j1", Matrix: map[string]string{"v": "1"}}}}})
	s.Emit(Event{Type: CallUpdated, Job: "j1", Session: "s1", Call: &Call{
		ID: "c1", Tool: "read", Input: json.RawMessage(`{"filePath":"a\nb"}`), Status: CallDenied,
		Decision: &Decision{Effect: "deny", Rule: "read: {\"*\": deny}", Source: "m.yaml:3"}, Error: "denied\u2028", StartedAt: time.Unix(1, 5).UTC(),
	}})
	s.Emit(Event{Type: TurnEnded, Turn: &Turn{Number: 1, Usage: &money.Usage{Input: 3}, CostUSD: &cost}})
	s.Emit(Event{Type: ChangesFound, Changes: []Change{{Path: "a\nb", Kind: "added", Added: 1}}})
	s.Emit(Event{Type: RunEnded, RunEnd: &RunEnd{Outcome: Passed, ExitCode: ExitOK}})
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	stored, err := collect(b.String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(live, stored); diff != "" {
		t.Error(diff)
	}
	for i, e := range stored {
		if e.Seq != int64(i+1) || e.Time.Location() != time.UTC || e.Time.IsZero() {
			t.Errorf("event %d has the number %d and the time %s", i, e.Seq, e.Time)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != len(stored) {
		t.Errorf("%d events take %d lines", len(stored), n)
	}
}

// writes counts calls, up to a number of them.
type writes struct {
	bytes.Buffer
	calls, most int
}

func (w *writes) Write(p []byte) (int, error) {
	if w.calls++; w.calls > w.most {
		return 0, errors.New("disk full")
	}
	return w.Buffer.Write(p)
}

func TestFailedSinkIsNotCalledAgain(t *testing.T) {
	small, large := &writes{most: 1}, &writes{most: 100}
	broken := errors.New("broken")
	asked := 0
	s := NewStream(clock(), JSONL(small), SinkFunc(func(Event) error {
		asked++
		return broken
	}), JSONL(large))
	if err := s.Err(); err != nil {
		t.Errorf("before anything: %v", err)
	}
	for range 4 {
		s.Emit(Event{Type: ModelText})
	}
	if small.calls != 2 || asked != 1 || large.calls != 4 {
		t.Errorf("called %d, %d and %d times", small.calls, asked, large.calls)
	}
	if events, err := collect(large.String()); len(events) != 4 || err != nil {
		t.Errorf("the sink behind them has %d events, %v", len(events), err)
	}
	err := s.Err()
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "write event 2: disk full") {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentProducersHaveOneOrder(t *testing.T) {
	var first, second bytes.Buffer
	s := NewStream(clock(), JSONL(&first), JSONL(&second))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 20 {
				s.Emit(Event{Type: ModelText, Job: fmt.Sprint(i)})
			}
		})
	}
	group.Wait()
	if first.String() != second.String() {
		t.Error("two sinks saw different orders")
	}
	events, err := collect(first.String())
	if len(events) != 160 || err != nil {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has the number %d", i, e.Seq)
		}
	}
}

func TestRead(t *testing.T) {
	const one, two = `{"seq":1,"time":"2026-07-01T10:00:01Z","type":"text"}`, `{"seq":2,"time":"2026-07-01T10:00:02Z","type":"text"}`
	huge := `{"seq":3,"type":"text","text":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`
	tests := []struct {
		name, stream string
		events       int
		err          string
	}{
		{"nothing", "", 0, ""},
		{"two events", one + "\n" + two + "\n", 2, ""},
		{"a torn last line", one + "\n" + two[:20], 1, ""},
		{"a last line that lacks its end alone", one + "\n" + two, 1, ""},
		{"a torn only line", one[:3], 0, ""},
		{"a long line", huge + "\n" + one + "\n", 2, ""},
		{"unknown types and fields", `{"seq":1,"type":"dream","dream":{"of":"sheep"},"job":"j"}` + "\n", 1, ""},
		{"damage in the middle", one + "\n" + two[:20] + "\n" + two + "\n", 1, "read event stream, line 2: "},
		{"damage at the end of a line that was finished", one + "\n" + two[:20] + "\n", 1, "read event stream, line 2: "},
		{"zeros, as a crash of the machine leaves them", one + "\n\x00\x00\x00\n" + two + "\n", 1, "read event stream, line 2: "},
		{"an empty line", one + "\n\n" + two + "\n", 1, "read event stream, line 2: "},
		{"two events on a line", one + two + "\n", 0, "read event stream, line 1: "},
		{"a wrong type", `{"seq":"one"}` + "\n", 0, "read event stream, line 1: "},
		{"no object", "[]\n", 0, "read event stream, line 1: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, err := collect(tt.stream)
			if len(events) != tt.events || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("%d events, %v; want %d, %q", len(events), err, tt.events, tt.err)
			}
		})
	}
}

// With checksums no changed byte is overlooked: it is an error with its line or, in the
// last line, an end that is ignored and reported.
func TestDamageIsFound(t *testing.T) {
	var b bytes.Buffer
	s := NewStream(clock(), JSONL(&b))
	for i := range 4 {
		s.Emit(Event{Type: CallUpdated, Job: "j", Call: &Call{ID: fmt.Sprint(i), Input: json.RawMessage(`{"a":1,"crc":"7-00000000"}`)}})
	}
	stream := b.String()
	if events, torn, err := collectTorn(stream); len(events) != 4 || torn != 0 || err != nil {
		t.Fatalf("%d events, %d bytes torn, %v", len(events), torn, err)
	}
	for i := range stream {
		for _, c := range []byte{stream[i] ^ 1, stream[i] ^ 0x20, 0, '\n', '}'} {
			if c == stream[i] {
				continue
			}
			events, torn, err := collectTorn(stream[:i] + string(c) + stream[i+1:])
			line := 1 + strings.Count(stream[:i], "\n")
			switch {
			case line == 4 && err == nil && torn > 0 && len(events) == 3:
			case err != nil && (strings.Contains(err.Error(), fmt.Sprintf("line %d: ", line)) || c == '\n' && strings.Contains(err.Error(), "line ")):
			default:
				t.Fatalf("byte %d (line %d) is %q: %d events, %d bytes torn, %v", i, line, c, len(events), torn, err)
			}
		}
	}
	for cut := range stream {
		events, torn, err := collectTorn(stream[:cut])
		if complete := strings.Count(stream[:cut], "\n"); err != nil || len(events) != complete || (torn > 0) != (cut > 0 && stream[cut-1] != '\n') {
			t.Fatalf("cut at %d: %d events, %d bytes torn, %v", cut, len(events), torn, err)
		}
	}
}

// endless gives one letter for ever.
type endless struct{ given int64 }

func (r *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	r.given += int64(len(p))
	return len(p), nil
}

func TestLinesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and run without -short")
	}
	r := &endless{}
	if _, err := Read(r, func(Event) error { return nil }); err == nil || !strings.Contains(err.Error(), "line 1: line too long") || r.given > 2*maxLine {
		t.Errorf("a line without end: %v after %d bytes", err, r.given)
	}
}

func TestReadReturnsErrorsOfItsInputAndItsConsumer(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Read(io.MultiReader(strings.NewReader("{}\n{"), failing{broken}), func(Event) error { return nil }); !errors.Is(err, broken) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a disk that fails: %v", err)
	}
	calls := 0
	_, err := Read(strings.NewReader("{}\n{}\n"), func(Event) error {
		calls++
		return broken
	})
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("a consumer that fails: %v after %d calls", err, calls)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzRead checks that what was read can be written and read again as the
// same, and that a stream cut anywhere gives the first of its events.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"seq\":1,\"type\":\"text\",\"text\":{\"text\":\"hi\"}}\n{\"seq\":2,\"type\":\"run.ended\"}\n"), 20)
	f.Add([]byte("{\"type\":\"call\",\"call\":{\"input\":{\"a\":[1,\"\\u2028\"]},\"started_at\":\"2026-07-01T10:00:00.5+02:00\"}}\n"), 70)
	f.Add([]byte("{}\n\x00\n"), 3)
	f.Add([]byte("null\n{\"changes\":[]}\n"), 0)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		events, err := collect(string(stream))
		var b bytes.Buffer
		sink := JSONL(&b)
		var known []Event
		for _, e := range events {
			if err := sink.Emit(e); err != nil {
				t.Fatalf("what was read can't be written: %v: %+v", err, e)
			}
			known = append(known, e)
		}
		again, againErr := collect(b.String())
		if againErr != nil || len(again) != len(known) {
			t.Fatalf("%d events come back as %d: %v", len(known), len(again), againErr)
		}
		if cut < 0 || cut > len(stream) || err != nil {
			return
		}
		chunk, err := collect(string(stream[:cut]))
		if err != nil || len(chunk) > len(events) {
			t.Errorf("cut at %d: %d events of %d, %v", cut, len(chunk), len(events), err)
		}
		for i := range chunk {
			if diff := cmp.Diff(events[i], chunk[i]); diff != "" {
				t.Errorf("cut at %d: event %d: %s", cut, i, diff)
			}
		}
	})
}

// Whoever writes an event could otherwise give a budget back what it has spent.
func TestNegativeCostsAreRefused(t *testing.T) {
	less, zero := -money.Dollar, money.USD(0)
	for want, events := range map[string][]Event{
		"line 1: negative cost": {
			{Type: TurnEnded, Turn: &Turn{CostUSD: &less}},
			{Type: TurnStarted, Turn: &Turn{Reserved: &less}},
			{Type: TurnStarted, Turn: &Turn{Request: &money.Charge{CostUSD: &less}}},
			{Type: TurnEnded, Turn: &Turn{Lost: &money.Charge{CostUSD: &less}}},
			{Type: JobEnded, JobEnd: &JobEnd{CostUSD: &less}},
			{Type: RunStarted, Run: &Run{Resumed: &Resumed{CostUSD: less}}},
		},
		"": {{Type: TurnEnded, Turn: &Turn{CostUSD: &zero}}, {Type: JobEnded, JobEnd: &JobEnd{}}},
	} {
		for _, e := range events {
			line, err := Line(e)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := collect(string(line) + "\n"); err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}
