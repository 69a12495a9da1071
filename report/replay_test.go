package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/report"
)

// sameWhenReplayed checks that a report can be re-created at any
// time: what live events fold to, their stored stream folds to as well, and so does a fold that keeps the jobs that have ended
// as their events.
func sameWhenReplayed(tb testing.TB, events []event.Event) *report.Report {
	tb.Helper()
	var live report.Fold
	var stored bytes.Buffer
	compact := report.Fold{Compact: true}
	s := event.NewStream(clock(), &live, event.JSONL(&stored), &compact)
	for _, e := range events {
		s.Emit(e)
	}
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	replayed := load(tb, stored.Bytes())
	for ending, write := range writers() {
		if diff := cmp.Diff(render(tb, write, live.Report()), render(tb, write, replayed)); diff != "" {
			tb.Fatalf("%s (-live +replayed):\n%s", ending, diff)
		}
		if diff := cmp.Diff(render(tb, write, replayed), render(tb, write, compact.Final())); diff != "" {
			tb.Fatalf("%s (-replayed +compact):\n%s", ending, diff)
		}
	}
	return replayed
}

// lived is a run with the text, the arguments and the cost wherever a model,
// a tool or a repository could have put them.
func lived(text string, input json.RawMessage, usd *money.USD) []event.Event {
	denied := &event.Decision{Effect: "deny", Rule: text, Source: text}
	return []event.Event{
		{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{
			{ID: "a", Task: text, Repo: text, Model: text, Matrix: map[string]string{"m": text}}, {ID: "b", Repo: "shop"},
		}}},
		started("a"),
		{Type: event.SessionStarted, Job: "a", Session: "s", SessionInfo: &event.Session{Agent: text, Parent: text}},
		{Type: event.TurnStarted, Job: "a", Session: "s", Turn: &event.Turn{Number: 1}},
		{Type: event.CallUpdated, Job: "a", Session: "s", Call: &event.Call{ID: text, Turn: 1, Tool: text, Input: input, Status: event.CallDenied, Decision: denied, Error: text}},
		{Type: event.CallUpdated, Job: "a", Session: "s", Call: &event.Call{ID: text, Turn: 1, Tool: text, Input: input, Status: event.CallRunning, StartedAt: clock()()}},
		turnEnded("s", 1, usd),
		{Type: event.SessionEnded, Job: "a", Session: "s", SessionInfo: &event.Session{Agent: text, Parent: text, End: text, Reason: text}},
		{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: text, Attempt: 1, ExitCode: 1, Tail: text}},
		{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: text, Attempt: 2, ExitCode: -1, Tail: text}},
		{Type: event.ChangesFound, Job: "a", Changes: []event.Change{{Path: text, Kind: "added"}}},
		{Type: event.Committed, Job: "a", Commit: &event.Commit{Hash: "0123456789", Branch: text, Message: text}},
		{Type: event.WarningIssued, Warning: &event.Warning{Message: text}},
		jobEnded("a", event.JobEnd{Outcome: event.Policy, Reason: text, Turns: 1, CostUSD: usd, FinalMessage: text, Output: input}),
		runEnded(event.Policy, event.ExitPolicy),
	}
}

// texts are what hostile or unlucky models, tools and repositories write.
func texts() []string {
	return []string{
		"", "plain words", "two\nlines\r\nand\rmore\n", "\xff\xfe invalid \xc3", "\x00\x07\x1b[31mred\x1b]52;c;eA==\x07\x7f",
		"\u009b31m \u202egnp\u2066 \u200b\ufeff\u2028\u2029 \ufffe\uffff\ufffd \U000e0041", "]]><a>&amp;&#0;<!--", "```\n````\n~~~", "` `` ` \\` \\| a|b",
		"![i](http://x.example/i.png) [l]: http://x.example <http://x.example> http://x.example www.x.example WWW.x.example a@x.example @octocat o/r#1",
		"::set-env name=A::b\n  ::add-mask::x\n##[error]y\n##vso[task.x]y ##teamcity[z]\n--- a title", "</pre></code></details><script>alert(1)</script><img src=x>", "# h\n- l\n1. n\n> q\n---\n===\n\tt\n    c",
		"$x$ $`y`$ ***b*** __u__ ~~s~~ :smile: [^1] \\\\", "emoji 👩\u200d💻 ünï 漢字 \u0645\u200c", "=cmd|'/c'!A1", "{\"a\": [1, {\"b\": \"##[\"}]}",
	}
}

func TestReplayedRunHasTheSameReports(t *testing.T) {
	for i, text := range append(texts(), strings.Repeat("\xff", 100<<10)) {
		if testing.Short() && i%4 != 3 {
			continue
		}
		input, err := json.MarshalIndent(map[string]any{"t": text, "l": []int{1, 2}}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		r := sameWhenReplayed(t, lived(text, input, costs(0.1)))
		validJSON(t, compileSchema(t), render(t, report.JSON, r))
		validXML(t, render(t, report.JUnit, r))
	}
}

func TestFoldDoesNotRetainEvents(t *testing.T) {
	var f report.Fold
	events := lived("as it was", json.RawMessage(`"as it was"`), costs(0.1))
	for _, e := range events {
		if err := f.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	before := render(t, report.JSON, f.Report())
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
	if diff := cmp.Diff(before, render(t, report.JSON, f.Report())); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func FuzzReplay(f *testing.F) {
	for _, text := range texts() {
		f.Add(text, []byte(`{"a": "<&>\u2028"}`), int64(100_000_000))
	}
	f.Add("x", []byte("\"\xff\\ud800\""), int64(1))
	f.Fuzz(func(t *testing.T, text string, input []byte, usd int64) {
		if !json.Valid(input) {
			input = nil // an event never holds it
		}
		sameWhenReplayed(t, lived(text, input, new(money.USD(max(usd, -int64(money.Max))))))
	})
}

func FuzzFold(f *testing.F) {
	for _, stream := range streams(f) {
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
		validJSON(t, schema, render(t, report.JSON, r))
		wellFormed(t, render(t, report.JUnit, r))
		if n := len(render(t, report.Markdown, r)); n > 900<<10 {
			t.Errorf("the summary has %d bytes", n)
		}
		render(t, report.Text, r)
	})
}
