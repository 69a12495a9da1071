package runs

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// What a follow-up may cost is added to what its job has cost.
func TestFollowUpLimitsItsOwnCost(t *testing.T) {
	past := &history.Past{}
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	stream := event.NewStream(func() time.Time { at = at.Add(time.Second); return at }, past)
	stream.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "one"}}}})
	stream.Emit(event.Event{Type: event.JobStarted, Job: "one", JobStart: &event.JobStart{}})
	stream.Emit(event.Event{Type: event.SessionStarted, Job: "one", Session: "one", SessionInfo: &event.Session{Agent: "build"}})
	stream.Emit(event.Event{Type: event.TurnStarted, Job: "one", Session: "one", Turn: &event.Turn{Number: 1}})
	stream.Emit(event.Event{Type: event.TurnEnded, Job: "one", Session: "one", Turn: &event.Turn{Number: 1, CostUSD: new(2 * money.Dollar)}})
	stream.Emit(event.Event{Type: event.SessionEnded, Job: "one", Session: "one", SessionInfo: &event.Session{Agent: "build", End: "done"}})
	stream.Emit(event.Event{Type: event.JobEnded, Job: "one", JobEnd: &event.JobEnd{Outcome: event.Passed, CostUSD: new(2 * money.Dollar)}})
	stream.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Passed}})
	for limit, want := range map[money.USD]money.USD{0: 3 * money.Dollar, money.Dollar: money.Dollar, 9 * money.Dollar: 3 * money.Dollar} {
		plan := &tasks.Plan{Jobs: []tasks.Job{{ID: "one", Limits: tasks.Limits{CostUSD: limit}}}}
		f := invocation.FollowUp{Prompt: "more", By: &invocation.Following{CostUSD: money.Dollar}}
		limited, continued, err := followUp(f, past, plan, history.Order{Do: history.Resume{}})
		if err != nil || limited.Jobs[0].Limits.CostUSD != want || plan.Jobs[0].Limits.CostUSD != limit {
			t.Errorf("limit $%s: $%s, %v", limit, limited.Jobs[0].Limits.CostUSD, err)
		}
		if job := continued.Job("one"); !job.Foreign() || !job.Pull().Keep {
			t.Error("the prompt of others is the user's, or replaces the description of the pull request")
		}
		f.By.Onto = true
		if _, _, err := followUp(f, past, plan, history.Order{}); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "job one has no pull request; nothing was run") {
			t.Errorf("a rebase: %v", err)
		}
	}
}

func TestRunsOfTheDefaultDirectoryMayBeMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	w := world.World{Now: time.Now}
	if at, list, err := savedrun.List(w, ""); err != nil || list == nil || len(list) > 0 || at != filepath.Join(".millhand", "runs") {
		t.Errorf("%s: %v, %v", at, list, err)
	}
	if _, _, err := savedrun.List(w, "missing"); fault.ExitOf(err) != event.ExitUsage {
		t.Errorf("a directory that is named: %v", err)
	}
}

func TestTelemetryIsOptionalAndItsMistakesAreWarnings(t *testing.T) {
	w := world.World{Now: time.Now, Getenv: func(name string) string { return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "ftp://x"}[name] }}
	_, warnings := exporter(t.Context(), w, "r", &report.Fold{})
	if len(warnings) != 1 || !strings.Contains(warnings[0], "OTEL_EXPORTER_OTLP_ENDPOINT") {
		t.Errorf("%q", warnings)
	}
	w.Getenv = func(string) string { return "" }
	x, warnings := exporter(t.Context(), w, "r", &report.Fold{})
	if x != nil || len(warnings) > 0 {
		t.Errorf("without variables: %v, %q", x, warnings)
	}
	finish(t.Context(), x, nil, w) // needs neither reports nor a log
}

// A secret that JSON escapes is redacted in JSON, and the text stays JSON.
func TestRecordedTextsHaveNoSecrets(t *testing.T) {
	known := redact.New([]string{"a\"secret<key>"})
	doc, err := json.Marshal(map[string]string{"key": `a"secret<key>`})
	if err != nil {
		t.Fatal(err)
	}
	if got := cleaned(known, `{"key": "a\"\u0073ecret<key>"}`); strings.Contains(got, "ecret<key>") {
		t.Errorf("JSON with an escaped letter: %s", got)
	}
	if got := cleaned(known, string(doc)); !json.Valid([]byte(got)) || strings.Contains(got, "secret") {
		t.Errorf("JSON: %s", got)
	}
	if got := cleaned(known, `{ not JSON: a"secret<key>`); strings.Contains(got, "secret") || !strings.HasPrefix(got, "{ not JSON: ") {
		t.Errorf("a text: %s", got)
	}
}
