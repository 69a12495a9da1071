package view

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/printable"
)

// hostile is text of a model that attacks a CI's log or a terminal.
const hostile = "ok\n::set-env name=PATH::/evil\r::add-mask::x\n##[error]no\x1b[2J\x1b]52;c;eA==\x07 \u202egnp"

// sample is a short run with a hostile model.
func sample() []event.Event {
	usd := money.Dollar * 123 / 10_000
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	events := []event.Event{
		{Type: event.RunStarted, Run: &event.Run{ID: "r1", Jobs: []event.PlannedJob{{ID: "a"}, {ID: "b"}}}},
		{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Workspace: "/w"}},
		{Type: event.TurnStarted, Job: "a", Turn: &event.Turn{Number: 1}},
		{Type: event.ModelText, Job: "a", Text: &event.Text{Turn: 1, Text: hostile}},
		{Type: event.CallUpdated, Job: "a", Call: &event.Call{Tool: "bash", Title: "::warning::x", Status: event.CallCompleted, ElapsedMS: 1200}},
		{Type: event.CallUpdated, Job: "a", Call: &event.Call{Tool: "write", Status: event.CallDenied, Error: `denied: edit "x"`}},
		{Type: event.TurnEnded, Job: "a", Turn: &event.Turn{Number: 1, CostUSD: &usd}},
		{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: "tests", ExitCode: 1, ElapsedMS: 900}},
		{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Failed, Reason: "verify tests failed\n::error::x 100%", Attempts: 1, Turns: 1, CostUSD: &usd, ElapsedMS: 2500}},
		{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Failed, ElapsedMS: 2600}},
	}
	for i := range events {
		events[i].Time = at.Add(time.Duration(i) * 300 * time.Millisecond)
	}
	return events
}

func show(t *testing.T, sink event.Sink) {
	t.Helper()
	for _, e := range sample() {
		if err := sink.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConsole(t *testing.T) {
	var out strings.Builder
	show(t, newConsole(&out, zerolog.InfoLevel, false))
	want := `0s run r1: 2 jobs
300ms [a] workspace /w
900ms [a] turn 1 model: ok : :set-env name=PATH::/evil�::add-mask::x ## [error]no�[2J�]52;c;eA==� �gnp
1.2s [a] turn 1 bash ::warning::x (1.2s)
1.5s [a] turn 1 write denied: edit "x"
2.1s [a] turn 1 $0.0123 verify tests failed, exit code 1 (900ms)
2.4s [a] failed: 1 attempt, 1 turn, cost $0.0123 in 2.5s: verify tests failed : :error::x 100%
2.7s run failed in 2.6s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	show(t, newConsole(&out, zerolog.ErrorLevel, true))
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "\x1b[31mfailed:") {
		t.Errorf("at level error, in colour: %q", got)
	}
}

// Each session counts its own turns, so a line names the session's agent.
func TestConsoleNamesSubagents(t *testing.T) {
	var out strings.Builder
	c := newConsole(&out, zerolog.InfoLevel, false)
	for _, e := range []event.Event{
		{Type: event.SessionStarted, Session: "a", SessionInfo: &event.Session{Agent: "build"}},
		{Type: event.TurnStarted, Session: "a", Turn: &event.Turn{Number: 3}},
		{Type: event.SessionStarted, Session: "a.1", SessionInfo: &event.Session{Agent: "explore", Parent: "a"}},
		{Type: event.TurnStarted, Session: "a.1", Turn: &event.Turn{Number: 1}},
		{Type: event.ModelText, Session: "a.1", Text: &event.Text{Turn: 1, Text: "Nothing found."}},
		{Type: event.CallUpdated, Session: "a", Call: &event.Call{Tool: "task", Title: "look", Status: event.CallCompleted}},
		{Type: event.VerifyEnded, Verify: &event.Verify{Name: "tests", Passed: true, In: event.InClean}},
	} {
		e.Job = "a"
		if err := c.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	want := "0s explore turn 1 model: Nothing found.\n0s turn 3 task look (0ms)\n0s turn 3 verify tests passed in a clean checkout (0ms)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestGitHubLogGroupsJobsWithoutInjectedCommands(t *testing.T) {
	var out strings.Builder
	show(t, newGitHubLog(&out, zerolog.InfoLevel))
	var commands []string
	for line := range strings.SplitSeq(out.String(), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			commands = append(commands, line)
		}
		if strings.ContainsAny(line, "\r\x1b\a") {
			t.Errorf("control characters: %q", line)
		}
	}
	want := []string{"::group::a failed", "::endgroup::"}
	if diff := cmp.Diff(want, commands); diff != "" {
		t.Errorf("workflow commands: %s\nin:\n%s", diff, out.String())
	}
}

func TestJSONLog(t *testing.T) {
	var out strings.Builder
	show(t, newJSONLog(&out, zerolog.WarnLevel))
	var levels []string
	lines := bufio.NewScanner(strings.NewReader(out.String()))
	for lines.Scan() {
		var l struct{ Level, Job, Event, Message, Time string }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil || l.Message == "" || l.Time == "" || l.Job != "a" {
			t.Errorf("%s: %+v, %v", lines.Text(), l, err)
		}
		levels = append(levels, l.Level+" "+l.Event)
	}
	if diff := cmp.Diff([]string{"warn call", "warn verify.ended", "error job.ended"}, levels); diff != "" {
		t.Error(diff)
	}
}

func TestTextBreaksWorkflowCommands(t *testing.T) {
	for text, want := range map[string]string{
		"::error::x":             ": :error::x",
		"a\n  ::error::x":        "a\n  : :error::x",
		"a\n\u00a0::error::x":    "a\n\u00a0: :error::x",
		"a ::error::x":           "a ::error::x",
		"a ##[error]x ##[debug]": "a ## [error]x ## [debug]",
		"std::vector":            "std::vector",
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
