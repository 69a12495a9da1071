package telemetry_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/telemetrytest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/telemetry"
)

var update = flag.Bool("update", false, "regenerate the golden files")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// written returns what the official types decode of a written report.
func written(t *testing.T, r *report.Report) *telemetrytest.Collector {
	t.Helper()
	var once, again bytes.Buffer
	for _, w := range []*bytes.Buffer{&once, &again} {
		if err := telemetry.Write(w, r); err != nil {
			t.Fatal(err)
		}
	}
	if once.String() != again.String() {
		t.Error("two exports of a run differ")
	}
	c := &telemetrytest.Collector{}
	for line := range strings.Lines(once.String()) {
		if err := c.Take([]byte(line)); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
	return c
}

// attributesOfTrees are the attributes in golden files.
var attributesOfTrees = []string{"millhand.job", "millhand.outcome", "millhand.reason_code", "gen_ai.provider.name", "gen_ai.usage.input_tokens", "millhand.input_tokens", "millhand.cost_usd", "millhand.decision", "millhand.rule", "error.type"}

// Every stored stream is one trace, without a text of a model.
func TestReports(t *testing.T) {
	files, err := filepath.Glob("../../report/testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			in, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			r, err := report.Load(in)
			if err != nil {
				t.Fatal(err)
			}
			if r.Run.StartedAt.IsZero() {
				t.Skip("the stream has no times, which spans require")
			}
			c := written(t, r)
			tree, err := c.Tree("", attributesOfTrees...)
			if err != nil {
				t.Fatal(err)
			}
			if name == "denied" || name == "passed" || name == "fallback" {
				golden(t, filepath.Join("testdata", name+".tree"), tree+"\n"+strings.Join(c.Metrics(), "\n")+"\n")
			}
		})
	}
}

func at(second int) time.Time {
	return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC)
}

// withSubagent is a run of one job with a child session, which a second call continues.
func withSubagent() *report.Fold {
	usd := money.Dollar / 4
	usage := &money.Usage{Input: 1000, Output: 20, CacheRead: 600}
	turn := func(second int, session string, number int) []event.Event {
		return []event.Event{
			{Time: at(second), Type: event.TurnStarted, Job: "fix", Session: session, Turn: &event.Turn{Number: number}},
			{Time: at(second + 1), Type: event.TurnEnded, Job: "fix", Session: session, Turn: &event.Turn{Number: number, Finish: "tool_calls", ElapsedMS: 1000, Usage: usage, CostUSD: &usd}},
		}
	}
	call := func(second int, session, id string, number int, child string) event.Event {
		e := event.Event{Time: at(second), Type: event.CallUpdated, Job: "fix", Session: session, Call: &event.Call{
			ID: id, Turn: number, Tool: "bash", Status: event.CallCompleted, StartedAt: at(second), ElapsedMS: 500,
			Input: json.RawMessage(`{"command":"PRIVATE arguments"}`), Title: "PRIVATE title",
			Decision: &event.Decision{Effect: "allow", Rule: "bash: allow", Source: "build"},
		}}
		if child != "" {
			e.Call.Tool, e.Call.ElapsedMS, e.Call.Metadata = "task", 5000, &event.CallMetadata{ChildSession: child}
		}
		return e
	}
	session := func(second int, id, parent string) event.Event {
		return event.Event{Time: at(second), Type: event.SessionStarted, Job: "fix", Session: id, SessionInfo: &event.Session{Agent: "build", Parent: parent, Model: "openai/m"}}
	}
	events := []event.Event{
		{Time: at(0), Type: event.RunStarted, Run: &event.Run{ID: "r1", Version: "1.2.3", Jobs: []event.PlannedJob{
			{ID: "fix", Task: "fix", Repo: "shop", Model: "openai/m", Profile: "build"}, {ID: "later", Task: "later", Repo: "shop", Model: "openai/m"},
		}}},
		{Time: at(1), Type: event.JobStarted, Job: "fix", JobStart: &event.JobStart{Base: "abc", BaseRef: "main"}},
		{Time: at(1), Type: event.PhaseStarted, Job: "fix", Phase: &event.Phase{Name: "prepare"}},
		{Time: at(2), Type: event.PhaseEnded, Job: "fix", Phase: &event.Phase{Name: "prepare", ElapsedMS: 1000}},
		session(2, "r1/fix", ""),
	}
	events = append(events, turn(3, "r1/fix", 1)...)
	events = append(events, session(5, "r1/fix.task-1", "r1/fix"))
	events = append(events, turn(6, "r1/fix.task-1", 1)...)
	events = append(events, call(8, "r1/fix.task-1", "c", 1, ""), call(5, "r1/fix", "c", 1, "r1/fix.task-1"))
	events = append(events, turn(11, "r1/fix", 2)...)
	events = append(events, call(13, "r1/fix", "c", 2, "r1/fix.task-1"))
	denied := call(19, "r1/fix", "d", 2, "")
	denied.Call.Status, denied.Call.Decision = event.CallDenied, &event.Decision{Effect: "deny", Rule: "bash: deny", Source: "millhand.yaml:3"}
	denied.Call.StartedAt, denied.Call.ElapsedMS = time.Time{}, 0
	unknown := call(20, "r1/fix", "e", 2, "")
	unknown.Call.Tool, unknown.Call.Status, unknown.Call.Decision, unknown.Call.Error = strings.Repeat("PRIVATE tool\x1b[31m\n", 99), event.CallError, nil, "PRIVATE error"
	events = append(events, denied, unknown,
		event.Event{Time: at(25), Type: event.VerifyEnded, Job: "fix", Verify: &event.Verify{Name: "test", Attempt: 1, ExitCode: 1, ElapsedMS: 4000, Tail: "PRIVATE output"}},
		event.Event{Time: at(26), Type: event.JobEnded, Job: "fix", JobEnd: &event.JobEnd{
			Outcome: event.Failed, Reason: "PRIVATE reason", Code: "verify", Turns: 3, ElapsedMS: 25_000, CostUSD: new(3 * usd), FinalMessage: "PRIVATE message", Usage: money.Usage{Input: 3000, Output: 60},
		}},
		event.Event{Time: at(30), Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Failed, ExitCode: 1, ElapsedMS: 30_000}},
	)
	f := &report.Fold{}
	for _, e := range events {
		f.Emit(e)
	}
	return f
}

func TestSpansOfASubagentAreBelowItsCall(t *testing.T) {
	c := written(t, withSubagent().Report())
	tree, err := c.Tree("", attributesOfTrees...)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/subagent.tree", tree+"\n"+strings.Join(c.Metrics(), "\n")+"\n")
}

// A span has no text of a model except names of tools, which are short and printable only
// in an attribute.
func TestTextsAreNotExported(t *testing.T) {
	var out bytes.Buffer
	if err := telemetry.Write(&out, withSubagent().Report()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "PRIVATE tool"); n == 0 || n > 30 {
		t.Errorf("the name of a tool occurs %d times", n)
	}
	for _, text := range []string{"PRIVATE arguments", "PRIVATE title", "PRIVATE error", "PRIVATE output", "PRIVATE reason", "PRIVATE message", `\u001b`, "execute_tool PRIVATE"} {
		if strings.Contains(out.String(), text) {
			t.Errorf("%q is exported", text)
		}
	}
}

// The spans of calls with an equal id, and of equal names in other runs and jobs, differ.
func TestSpansOfDifferentCallsHaveDifferentIDs(t *testing.T) {
	r := withSubagent().Report()
	other := withSubagent().Report()
	other.Run.ID = "r2"
	ids := map[string]string{}
	for _, c := range []*telemetrytest.Collector{written(t, r), written(t, other)} {
		for _, span := range c.Spans() {
			id := fmt.Sprintf("%x", span.SpanId)
			if name, twice := ids[id]; twice {
				t.Errorf("%s and %s have the id %s", name, span.Name, id)
			}
			ids[id] = span.Name
		}
	}
	if len(ids) != 2*14 {
		t.Errorf("%d spans", len(ids))
	}
}
