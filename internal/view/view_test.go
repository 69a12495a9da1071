package view

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/printable"
)

var update = flag.Bool("update", false, "write the golden files")

// hostile is text of a model that attacks a CI's log or a terminal.
const hostile = "ok\n::set-env name=PATH::/evil\r::add-mask::x\n##[error]no\x1b[2J\x1b]52;c;eA==\x07 \u202egnp"

// sample is a short run with a hostile model.
func sample() []event.Event {
	usd := money.Dollar * 123 / 10_000
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	events := []event.Event{
		{Type: event.RunStarted, Run: &event.Run{ID: "r1", Jobs: []event.PlannedJob{{ID: "a"}, {ID: "b"}}}},
		{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Workspace: "/w", Sandbox: event.Sandbox{Level: "A"}, Repository: "/shop", BaseRef: "main", Branch: "millhand/a"}},
		{Type: event.TurnStarted, Job: "a", Turn: &event.Turn{Number: 1}},
		{Type: event.ModelText, Job: "a", Text: &event.Text{Turn: 1, Text: hostile}},
		{Type: event.CallUpdated, Job: "a", Call: &event.Call{Tool: "bash", Title: "::warning::x", Status: event.CallCompleted, ElapsedMS: 1200}},
		{Type: event.CallUpdated, Job: "a", Call: &event.Call{Tool: "write", Status: event.CallDenied, Error: `denied: edit "x"`}},
		{Type: event.TurnEnded, Job: "a", Turn: &event.Turn{Number: 1, CostUSD: &usd}},
		{Type: event.ChangesFound, Job: "a", Changes: []event.Change{{Path: "a.go", Kind: "modified", Added: 1, Removed: 2}}},
		{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: "tests", ExitCode: 1, ElapsedMS: 900, Tail: "\n--- FAIL: x\r\n\t::error::y\n"}},
		{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Failed, Reason: "verify tests failed\n::error::x 100%", Attempts: 1, Turns: 1, CostUSD: &usd, ElapsedMS: 2500, FinalMessage: "Done?\n", Patch: "patches/a.patch"}},
		{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Failed, ElapsedMS: 2600}},
	}
	for i := range events {
		events[i].Time = at.Add(time.Duration(i) * 300 * time.Millisecond)
	}
	return events
}

func show(t *testing.T, l *Log, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if err := l.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
}

func console(out *strings.Builder, level zerolog.Level) *Log { return &Log{out: out, level: level} }

func TestTheConsoleLogHasNoControlCharactersOfEvents(t *testing.T) {
	var out strings.Builder
	show(t, console(&out, zerolog.InfoLevel), sample()...)
	want := `   0ms  run r1: 2 jobs
 300ms  a                     workspace /w, sandbox A
 600ms  a  turn 1             started model request
 900ms  a  turn 1             | ok : :set-env name=PATH::/evil�::add-mask::x ## [error]no�[2J�]52;c;eA==� �gnp
  1.2s  a  turn 1             bash ::warning::x (1.2s)
  1.5s  a  turn 1             write denied: edit "x"
  2.4s  a  turn 1    $0.0123  verify tests failed, exit code 1 (900ms)
          | --- FAIL: x
          |     ::error::y
  2.7s  a  turn 1    $0.0123  failed: 1 attempt, 1 turn, cost $0.0123 in 2.5s: verify tests failed
          | ::error::x 100%
          | Done?
          M a.go +1 -2
          patch: patches/a.patch
  3.0s  run failed in 2.6s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	l := console(&out, zerolog.ErrorLevel)
	l.colour = true
	show(t, l, sample()...)
	if got := out.String(); !strings.Contains(got, "\x1b[31mfailed:") || strings.Contains(got, "verify tests failed,") {
		t.Errorf("at level error, in colour: %q", got)
	}
}

// Each session counts its own turns, so a line names the session's agent.
func TestConsoleNamesSubagents(t *testing.T) {
	var out strings.Builder
	c := console(&out, zerolog.InfoLevel)
	for _, e := range []event.Event{
		{Type: event.SessionStarted, Session: "a", SessionInfo: &event.Session{Agent: "build"}},
		{Type: event.TurnStarted, Session: "a", Turn: &event.Turn{Number: 3}},
		{Type: event.SessionStarted, Session: "a.task-1", SessionInfo: &event.Session{Agent: "explore", Parent: "a"}},
		{Type: event.TurnStarted, Session: "a.task-1", Turn: &event.Turn{Number: 1}},
		{Type: event.ModelText, Session: "a.task-1", Text: &event.Text{Turn: 1, Text: "Nothing found."}},
		{Type: event.CallUpdated, Session: "a", Call: &event.Call{Tool: "task", Title: "look", Status: event.CallCompleted}},
		{Type: event.VerifyEnded, Verify: &event.Verify{Name: "tests", Passed: true, In: event.InClean}},
	} {
		e.Job = "a"
		show(t, c, e)
	}
	want := `   0ms  turn 3             started model request
   0ms  turn 1             explore: started model request
   0ms  turn 1             explore: | Nothing found.
   0ms  turn 3             task look (0ms)
   0ms  turn 3             verify tests passed in a clean checkout (0ms)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// Commands are announced by their command line when they start.
func TestCommandsAreAnnounced(t *testing.T) {
	var out strings.Builder
	input := json.RawMessage(`{"command":"go test ./...","description":"Run the tests"}`)
	exit := 2
	l := console(&out, zerolog.InfoLevel)
	for _, e := range []event.Event{
		{Type: event.CommandStarted, Command: &event.Command{Kind: event.SetupCommand, Run: "npm ci"}},
		{Type: event.CommandEnded, Command: &event.Command{Kind: event.SetupCommand, Run: "npm ci", ExitCode: &exit, ElapsedMS: 1500}},
		{Type: event.CallUpdated, Call: &event.Call{Tool: "bash", Input: input, Title: "Run the tests", Status: event.CallRunning}},
		{Type: event.CallUpdated, Call: &event.Call{Tool: "bash", Input: input, Title: "Run the tests", Status: event.CallCompleted, ElapsedMS: 61_000}},
		{Type: event.CallUpdated, Call: &event.Call{Tool: "read", Title: "a.go", Status: event.CallRunning}},
		{Type: event.CommandStarted, Command: &event.Command{Kind: event.VerifyCommand, Name: "tests", Run: "make", In: event.InClean}},
		{Type: event.CommandStarted, Command: &event.Command{Kind: event.VerifyCommand, Name: "make", Run: "make"}},
	} {
		e.Job = "a"
		show(t, l, e)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.TrimSpace(line[8:]))
	}
	want := []string{
		"started setup: npm ci", "setup: npm ci: failed, exit code 2 (1.5s)", "started bash go test ./...", "bash go test ./... (1m01s)",
		"started verify tests in a clean checkout: make", "started verify: make",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// After a silence the log prints what is running, and for how long.
func TestAfterASilenceTheLogPrintsWhatIsRunning(t *testing.T) {
	for _, json := range []bool{false, true} {
		var out strings.Builder
		l := console(&out, zerolog.InfoLevel)
		l.json = json
		events := sample()
		show(t, l, events[:3]...)
		show(t, l, event.Event{Time: events[2].Time, Type: event.PhaseStarted, Job: "b", Phase: &event.Phase{Name: "prepare"}})
		out.Reset()
		at := events[2].Time
		for _, after := range []time.Duration{Silence - time.Millisecond, Silence, Silence + time.Second, 2 * Silence} {
			l.tick(at.Add(after))
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "still running: a: model request (30s); b: prepare (30s)") || !strings.Contains(lines[1], "(1m00s)") {
			t.Errorf("JSON %t: %q", json, lines)
		}
		show(t, l, events[3:]...)
		l.state.remove("b")
		last := events[len(events)-1].Time
		show(t, l, event.Event{Time: last, Type: event.PhaseStarted, Job: "a", Phase: &event.Phase{Name: "late"}})
		out.Reset()
		l.tick(last.Add(time.Hour))
		if out.Len() > 0 {
			t.Errorf("nothing is running, but the log has %q", out.String())
		}
	}
}

// TestTheLogOfACIFoldsTheOutputOfAFailedVerify checks the log of each CI: it folds the output of a failed verify, in one operation and by itself, also
// between lines of other jobs.
func TestTheLogOfACIFoldsTheOutputOfAFailedVerify(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	const title = "0ms  a  turn 1             verify go test 5% failed, exit code 1 (2.0s)"
	const output = "          | FAIL: ::error::x\n          | ## [error]y section_start: 1:z\n"
	for name, want := range map[string]string{
		"GITHUB_ACTIONS=true": "::group::" + strings.ReplaceAll(title, "%", "%25") + "\n" + output + "::endgroup::\n",
		"GITLAB_CI=true":      "\x1b[0Ksection_start:1700000000:millhand_1700000000000_1[collapsed=true]\r\x1b[0K" + title + "\n" + output + "\x1b[0Ksection_end:1700000000:millhand_1700000000000_1\r\x1b[0K\n",
		"TF_BUILD=True":       "##[group]" + title + "\n" + output + "##[endgroup]\n",
		"BUILDKITE=true":      "--- " + title + "\n" + output + "+++ millhand\n",
		"CI=true":             "   " + title + "\n" + output,
	} {
		variable, value, _ := strings.Cut(name, "=")
		var out strings.Builder
		l, err := New(&out, Options{Format: "auto", Level: "info"}, func(of string) string { return map[string]string{variable: value}[of] })
		if err != nil {
			t.Fatal(err)
		}
		verify := &event.Verify{Name: "go test 5%", Attempt: 1, ExitCode: 1, ElapsedMS: 2000, Tail: "FAIL: ::error::x\n##[error]y section_start:1:z\n"}
		show(t, l, event.Event{Type: event.RunStarted, Time: at, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "a"}, {ID: "b"}}}})
		show(t, l, event.Event{Type: event.TurnStarted, Time: at, Job: "a", Turn: &event.Turn{Number: 1}})
		out.Reset()
		show(t, l, event.Event{Type: event.VerifyEnded, Time: at, Job: "a", Verify: verify})
		if got := out.String(); got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, want)
		}
	}
}

// TestNoLineHasTwoCostsThatDiffer checks that no line has two costs that contradict each other.
func TestNoLineHasTwoCostsThatDiffer(t *testing.T) {
	spent := money.Dollar / 8
	for want, costs := range map[string][]*money.USD{"unknown": {nil, nil}, "≥ $0.1250": {&spent, nil}, "$0.1250": {&spent}} {
		var out strings.Builder
		l := console(&out, zerolog.InfoLevel)
		show(t, l, event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "a"}}}})
		var total *money.USD
		for i, usd := range costs {
			show(t, l, event.Event{Type: event.TurnStarted, Job: "a", Turn: &event.Turn{Number: i + 1}})
			show(t, l, event.Event{Type: event.TurnEnded, Job: "a", Turn: &event.Turn{Number: i + 1, CostUSD: usd}})
			total = usd
		}
		out.Reset()
		show(t, l, event.Event{Type: event.JobEnded, Job: "a", JobEnd: &event.JobEnd{Outcome: event.Failed, CostUSD: total}})
		if got := out.String(); strings.Count(got, want) != 2 || strings.Count(got, "$") != strings.Count(want, "$")*2 {
			t.Errorf("%s: %q", want, got)
		}
	}
}

func TestColoursByVariables(t *testing.T) {
	for variables, want := range map[string]bool{
		"": false, "FORCE_COLOR=1": true, "FORCE_COLOR=0": false, "CLICOLOR_FORCE=1": true, "CLICOLOR_FORCE=0": false, "FORCE_COLOR=1 NO_COLOR=1": false, "TERM=dumb FORCE_COLOR=3": true,
	} {
		set := map[string]string{}
		for variable := range strings.FieldsSeq(variables) {
			name, value, _ := strings.Cut(variable, "=")
			set[name] = value
		}
		l, err := New(&strings.Builder{}, Options{Format: "auto", Level: "info"}, func(name string) string { return set[name] })
		if err != nil || l.colour != want || l.screen != nil {
			t.Errorf("%s: %v, colour %t, live %t", variables, err, l.colour, l.screen != nil)
		}
	}
}

func TestTheSuggestedCommandShowsTheChanges(t *testing.T) {
	changes := []event.Change{{Path: "a", Kind: "added"}}
	for want, c := range map[string]struct {
		start event.JobStart
		end   event.JobEnd
	}{
		"next: git diff main...millhand/a":                {event.JobStart{Repository: "/w/shop", BaseRef: "main", Branch: "millhand/a"}, event.JobEnd{Outcome: event.Passed}},
		"next: git -C '/w/o p' diff 0123456789...m'\\''b": {event.JobStart{Repository: "/w/o p", Base: "0123456789ab", Branch: "m'b"}, event.JobEnd{Outcome: event.Passed}},
		"next: git -C /w/sho diff v1...a":                 {event.JobStart{Repository: "/w/sho", BaseRef: "v1", Branch: "a"}, event.JobEnd{Outcome: event.Passed}},
		"next: git diff 0123456789...main":                {event.JobStart{Repository: "/w/shop", BaseRef: "main", Base: "0123456789ab", Branch: "main"}, event.JobEnd{Outcome: event.Passed}},
		"next: git -C r/shop diff main...a":               {event.JobStart{Repository: "/w/shop/sub/r/shop", BaseRef: "main", Branch: "a"}, event.JobEnd{Outcome: event.Passed}},
		"patch: out/patches/a.patch":                      {event.JobStart{Repository: "/w/shop", BaseRef: "main", Branch: "a"}, event.JobEnd{Outcome: event.Failed, Patch: "patches/a.patch"}},
		"":                                                {event.JobStart{Repository: "/w/shop", BaseRef: "main"}, event.JobEnd{Outcome: event.Passed}},
	} {
		got := next(&job{start: c.start, changes: changes}, &c.end, directories{"/w/shop/sub", "/w/shop/sub/out"})
		if got = strings.ReplaceAll(got, "'m'\\''b'", "m'\\''b"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTheJSONLogIsTheGoldenFile(t *testing.T) {
	var out strings.Builder
	l := console(&out, zerolog.DebugLevel)
	l.json = true
	show(t, l, sample()...)
	golden := filepath.Join("testdata", "log.jsonl")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
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
