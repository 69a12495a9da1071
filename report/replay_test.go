package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/junit"
	"github.com/millhand/millhand/report/summary"
)

// sameWhenReplayed checks that a report can be re-created at any
// time: what live events fold to, their stored stream folds to as well, and so does a fold that keeps the jobs that have ended
// as their events.
func sameWhenReplayed(tb testing.TB, events []event.Event) *report.Report {
	tb.Helper()
	var live report.Fold
	var stored bytes.Buffer
	compact := report.Fold{Compact: true}
	s := event.NewStream(reporttest.Clock(), &live, event.JSONL(&stored), &compact)
	for _, e := range events {
		s.Emit(e)
	}
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	replayed := reporttest.Load(tb, stored.Bytes())
	for ending, write := range writers() {
		if diff := cmp.Diff(reporttest.Render(tb, write, live.Report()), reporttest.Render(tb, write, replayed)); diff != "" {
			tb.Fatalf("%s (-live +replayed):\n%s", ending, diff)
		}
		if diff := cmp.Diff(reporttest.Render(tb, write, replayed), reporttest.Render(tb, write, compact.Final())); diff != "" {
			tb.Fatalf("%s (-replayed +compact):\n%s", ending, diff)
		}
	}
	return replayed
}

func TestReplayedRunHasTheSameReports(t *testing.T) {
	schema := compileSchema(t)
	for i, text := range append(reporttest.Texts(), strings.Repeat("\xff", 100<<10)) {
		if testing.Short() && i%4 != 3 {
			continue
		}
		input, err := json.MarshalIndent(map[string]any{"t": text, "l": []int{1, 2}}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		r := sameWhenReplayed(t, reporttest.Lived(text, input, reporttest.Costs(0.1)))
		validJSON(t, schema, reporttest.Render(t, report.JSON, r))
	}
}

func TestFoldDoesNotRetainEvents(t *testing.T) {
	var f report.Fold
	events := reporttest.Lived("as it was", json.RawMessage(`"as it was"`), reporttest.Costs(0.1))
	for _, e := range events {
		if err := f.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	before := reporttest.Render(t, report.JSON, f.Report())
	*events[0].Run = event.Run{Jobs: events[0].Run.Jobs}
	clear(events[0].Run.Jobs[0].Matrix)
	clear(events[0].Run.Jobs)
	for _, e := range events[1:] {
		switch {
		case e.JobStart != nil:
			*e.JobStart = event.JobStart{}
		case e.Call != nil:
			clear(e.Call.Input)
			if e.Call.Decision != nil {
				*e.Call.Decision = event.Decision{}
			}
			*e.Call = event.Call{}
		case e.Turn != nil && e.Turn.CostUSD != nil:
			*e.Turn.CostUSD = 9 * money.Dollar
		case e.Commit != nil:
			*e.Commit = event.Commit{}
		case e.JobEnd != nil:
			*e.JobEnd = event.JobEnd{}
		case e.RunEnd != nil:
			*e.RunEnd = event.RunEnd{}
		}
		clear(e.Changes)
	}
	if diff := cmp.Diff(before, reporttest.Render(t, report.JSON, f.Report())); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func FuzzReplay(f *testing.F) {
	for _, text := range reporttest.Texts() {
		f.Add(text, []byte(`{"a": "<&>\u2028"}`), int64(100_000_000))
	}
	f.Add("x", []byte("\"\xff\\ud800\""), int64(1))
	f.Fuzz(func(t *testing.T, text string, input []byte, usd int64) {
		if !json.Valid(input) {
			input = nil // an event never holds it
		}
		sameWhenReplayed(t, reporttest.Lived(text, input, new(money.USD(max(usd, -int64(money.Max))))))
	})
}

func FuzzFold(f *testing.F) {
	for _, stream := range reporttest.Streams(f, "testdata") {
		f.Add(stream)
	}
	f.Add([]byte(`{"type":"call","job":"a","call":{"id":"x","input":1e999999999,"status":"?"}}` + "\n"))
	f.Add([]byte(`{"type":"job.started","job":"a","time":"9999-12-31T23:59:59-23:59"}` + "\n"))
	f.Add([]byte(`{"type":"run.started","run":{"jobs":[{"id":""},{"id":""}]}}` + "\n" + `{"type":"turn.ended","job":"","turn":{"number":-1,"cost_usd":1e308}}` + "\n"))
	schema := compileSchema(f)
	f.Fuzz(func(t *testing.T, stream []byte) {
		r, err := report.Load(bytes.NewReader(stream))
		if err != nil {
			return
		}
		validJSON(t, schema, reporttest.Render(t, report.JSON, r))
		wellFormed(t, reporttest.Render(t, junit.Write, r))
		if n := len(reporttest.Render(t, summary.Markdown, r)); n > 900<<10 {
			t.Errorf("the summary has %d bytes", n)
		}
		reporttest.Render(t, summary.Text, r)
	})
}
