package rundir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/report"
)

// at is a clock in whose tests nothing waits.
func at(now func() time.Time) clock.Clock { return clock.Clock{Now: now} }

// noon is the current time in the tests.
func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// Every report is moved aside with its run, so that none is taken for a report of the next one.
// docs/reports.md describes what a run writes.
func TestEveryReportIsMovedAside(t *testing.T) {
	page, err := os.ReadFile("../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range Formats(nil) {
		if !slices.Contains(written(), name) {
			t.Errorf("%s stays when the report directory is used again", name)
		}
	}
	for _, name := range append(written(), manifestFile, "earlier", "work") {
		if !strings.Contains(string(page), "\n| `"+name) {
			t.Errorf("docs/reports.md lacks %s", name)
		}
	}
}

// While the next run checks its repositories, the previous run is not active.
func TestPreviousRunIsNotActiveWhileTheNextStarts(t *testing.T) {
	dir := t.TempDir()
	var events bytes.Buffer
	s := event.NewStream(noon, event.JSONL(&events))
	s.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: "before"}})
	s.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Failed, ExitCode: event.ExitFailed}})
	if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), events.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	lock, err := TakeLock(t.Context(), dir, "next", at(noon))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if got := describeRun(dir, noon()); got.Outcome != event.Failed || !got.held {
		t.Errorf("%+v", got)
	}
}

func TestLastLine(t *testing.T) {
	tests := []struct {
		text string
		most int64
		want any // nil for no line
	}{
		{"", 9, nil},
		{"torn", 9, nil},
		{"one\n", 9, "one"},
		{"one\ntwo\ntorn", 99, "two"},
		{"one\ntwo\n", 5, "two"}, // the newline before it is read
		{"one\ntwo\n", 4, nil},   // it may start earlier
		{"one\ntwo\n", 1, nil},
		{"\n\n", 9, ""},
	}
	for _, tt := range tests {
		got, err := lastLine(strings.NewReader(tt.text), int64(len(tt.text)), tt.most)
		if err != nil || (got == nil) != (tt.want == nil) || got != nil && string(got) != tt.want {
			t.Errorf("%q, %d: got %q, %v; want %q", tt.text, tt.most, got, err, tt.want)
		}
	}
}

func TestTheFirstEventOfALongPlanIsRead(t *testing.T) {
	jobs := make([]event.PlannedJob, 5_000)
	for i := range jobs {
		jobs[i] = event.PlannedJob{ID: fmt.Sprintf("job-%d", i)}
	}
	var text bytes.Buffer
	s := event.NewStream(noon, event.JSONL(&text))
	s.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: "long", Jobs: jobs}})
	s.Emit(event.Event{Type: event.ModelText, Text: &event.Text{Text: strings.Repeat("x", maxLast)}})
	ends, err := readEnds(bytes.NewReader(text.Bytes()), int64(text.Len()))
	if err != nil || len(ends.run.Jobs) != len(jobs) || ends.end != nil || !ends.last.IsZero() {
		t.Errorf("%+v, %v", ends, err)
	}
	s.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Passed}})
	if ends, err = readEnds(bytes.NewReader(text.Bytes()), int64(text.Len())); err != nil || ends.end == nil {
		t.Errorf("%+v, %v", ends, err)
	}
}

func TestTotalsOfAReport(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"schema_version":1,"run":{"id":"x","totals":{"jobs":2}},"jobs":[torn`: true,
		`{"jobs":[],"run":{"id":"x"}}`:                                          true,
		`{"run":{"id":"another"}}`:                                              false,
		`{"run":{"id":7}}`:                                                      false,
		`{"schema_version":`:                                                    false,
		`{"schema_version":}`:                                                   false,
		`{}`:                                                                    false,
		`[]`:                                                                    false,
		``:                                                                      false,
	} {
		if _, got := reportTotals(strings.NewReader(text), "x"); got != ok {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// FuzzStreamEnds compares readEnds with reading the complete stream.
func FuzzStreamEnds(f *testing.F) {
	const first = `{"seq":1,"time":"2026-01-02T03:04:05Z","type":"run.started","run":{"id":"x","jobs":[{"id":"a"}]}}` + "\n"
	const last = `{"seq":9,"time":"2026-01-02T03:04:09Z","type":"run.ended","run_end":{"outcome":"passed","exit_code":0,"elapsed_ms":4}}` + "\n"
	for _, seed := range []string{"", "\n", first, first + last, first + last + `{"torn`, first + "no event\n", "{}\n" + last, first + "\x00\x00\n", last} {
		f.Add([]byte(seed), int64(64))
	}
	f.Fuzz(func(t *testing.T, text []byte, most int64) {
		size := int64(len(text))
		if line, err := lastLine(bytes.NewReader(text), size, max(0, min(most, 1<<20))); err != nil || line != nil && !bytes.Contains(text, append(line, '\n')) {
			t.Fatalf("last line %q, %v", line, err)
		}
		ends, err := readEnds(bytes.NewReader(text), size)
		var events []event.Event
		if _, err := event.Read(bytes.NewReader(text), func(e event.Event) error { events = append(events, e); return nil }); err != nil {
			return // corrupt, possibly only between the ends
		}
		switch {
		case len(events) == 0:
			if err != nil || ends.run != nil {
				t.Fatalf("no event: %+v, %v", ends, err)
			}
		case events[0].Type != event.RunStarted || events[0].Run == nil:
			if err == nil {
				t.Fatalf("starts with %s: no error", events[0].Type)
			}
		case err != nil || !cmp.Equal(ends.run, events[0].Run):
			t.Fatalf("first: %+v, %v; want %+v", ends.run, err, events[0].Run)
		case size < maxLast:
			final := events[len(events)-1]
			if ended := final.Type == event.RunEnded && final.RunEnd != nil; ended != (ends.end != nil) || !ends.last.Equal(final.Time) {
				t.Fatalf("last: %+v; want %+v", ends, final)
			}
		}
	})
}

// FuzzReportTotals checks that reportTotals agrees with a decoder, and doesn't panic.
func FuzzReportTotals(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"run":{"id":"x","totals":{"jobs":2,"passed":1,"cost_usd":null}},"jobs":[]}`))
	f.Add([]byte(`{"run":{"id":"x"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := reportTotals(bytes.NewReader(text), "x")
		var doc struct {
			Run struct {
				ID     string        `json:"id"`
				Totals report.Totals `json:"totals"`
			} `json:"run"`
		}
		// A complete report with one run: both readers must agree.
		if json.Unmarshal(text, &doc) == nil && bytes.Count(bytes.ToLower(text), []byte("run")) == 1 && bytes.Contains(text, []byte(`"run"`)) && doc.Run.ID == "x" && !bytes.ContainsRune(text, '\\') {
			if !ok || !cmp.Equal(got, doc.Run.Totals) {
				t.Fatalf("got %+v, %v; want %+v", got, ok, doc.Run.Totals)
			}
		}
	})
}

// A command of a job can replace a manifest by anything, also by what blocks when it is opened.
func TestAPipeIsNoManifest(t *testing.T) {
	base := t.TempDir()
	dir, err := files.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	pipe := filepath.Join(base, manifestFile)
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that it can be opened
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(manifestHead); err != nil {
		t.Fatal(err)
	}
	if savedManifest(dir) {
		t.Error("it is taken for one")
	}
}
