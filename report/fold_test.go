package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/summary"
)

func retried(session string, turn int) event.Event {
	return event.Event{Type: event.RequestRetried, Job: "a", Session: session, Retry: &event.Retry{Turn: turn, Attempt: 1}}
}

func TestJobWithoutJobEnded(t *testing.T) {
	type ending struct {
		Outcome event.Outcome
		Reason  string
		Elapsed int64
	}
	for name, c := range map[string]struct {
		events []event.Event
		want   ending
	}{
		"never began": {
			[]event.Event{reporttest.Planned("a"), reporttest.RunEnded(event.Passed, 0)},
			ending{event.Skipped, "the job did not start", 0},
		},
		"never began in a killed run": {
			[]event.Event{reporttest.Planned("a")},
			ending{event.Skipped, "the job did not start", 0},
		},
		"never began, but was warned about": {
			[]event.Event{reporttest.Planned("a"), {Type: event.WarningIssued, Job: "a", Warning: &event.Warning{Message: "w"}}},
			ending{event.Skipped, "the job did not start", 0},
		},
		"never began in a cancelled run": {
			[]event.Event{reporttest.Planned("a"), reporttest.RunEnded(event.Cancelled, event.ExitInterrupt)},
			ending{event.Cancelled, "the run was cancelled before the job started", 0},
		},
		"began in a run that ended": {
			[]event.Event{reporttest.Planned("a"), reporttest.Started("a"), reporttest.RunEnded(event.Error, event.ExitInternal)},
			ending{event.Cancelled, "the run ended before the job completed", 1000},
		},
		"began, by a phase alone": {
			[]event.Event{reporttest.Planned("a"), {Type: event.PhaseEnded, Job: "a", Phase: &event.Phase{Name: "prepare"}}},
			ending{event.Cancelled, "the run ended before the job completed", 0},
		},
		"began once more after a resume": {
			[]event.Event{reporttest.Planned("a"), reporttest.Started("a"), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Cancelled, Reason: "SIGINT"}), reporttest.RunEnded(event.Cancelled, event.ExitInterrupt), reporttest.Planned("a"), reporttest.Started("a")},
			ending{event.Cancelled, "the run ended before the job completed", 4000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := reporttest.Fold(t, c.events...).Jobs[0]
			if diff := cmp.Diff(c.want, ending{j.Outcome, j.Reason, j.ElapsedMS}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunWithoutRunEndedIsAnError(t *testing.T) {
	r := reporttest.Fold(t, reporttest.Planned("a"), reporttest.Started("a"), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed}))
	if r.Run.Outcome != event.Error || r.Run.ExitCode != event.ExitInternal {
		t.Errorf("outcome %s, exit code %d", r.Run.Outcome, r.Run.ExitCode)
	}
	if got := r.Run.FinishedAt.Sub(r.Run.StartedAt.Time); got != 2*time.Second {
		t.Errorf("started and finished %s apart", got)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "killed") {
		t.Errorf("warnings: %v", r.Warnings)
	}
}

func TestUnknownCostIsNull(t *testing.T) {
	for name, c := range map[string]struct {
		events []event.Event
		want   *money.USD
	}{
		"no jobs":                {nil, reporttest.Costs(0.0)},
		"no model call":          {[]event.Event{reporttest.JobEnded("a", event.JobEnd{Outcome: event.Failed})}, reporttest.Costs(0.0)},
		"an unknown price":       {[]event.Event{reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, Turns: 1})}, nil},
		"a sum beyond all":       {[]event.Event{reporttest.JobEnded("a", event.JobEnd{CostUSD: new(money.Max)}), reporttest.JobEnded("b", event.JobEnd{CostUSD: new(money.Max)})}, new(money.Max)},
		"one known, one unknown": {[]event.Event{reporttest.JobEnded("a", event.JobEnd{Turns: 1, CostUSD: reporttest.Costs(1.0)}), reporttest.JobEnded("b", event.JobEnd{Turns: 1})}, nil},
		"turns of a killed job":  {[]event.Event{reporttest.TurnEnded("s", 1, reporttest.Costs(0.1)), reporttest.TurnEnded("s.1", 1, reporttest.Costs(0.2))}, reporttest.Costs(0.3)},
		"a turn without a price": {[]event.Event{reporttest.TurnEnded("s", 1, reporttest.Costs(0.1)), reporttest.TurnEnded("s", 2, nil)}, nil},
		"a turn that never ended": {[]event.Event{
			reporttest.TurnEnded("s", 1, reporttest.Costs(0.1)),
			{Type: event.TurnStarted, Job: "a", Session: "s", Turn: &event.Turn{Number: 2}},
		}, nil},
		"a turn without usage": {[]event.Event{
			{Type: event.TurnEnded, Job: "a", Session: "s", Turn: &event.Turn{Number: 1, CostUSD: reporttest.Costs(0.1)}},
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := reporttest.Fold(t, c.events...)
			if diff := cmp.Diff(c.want, r.Run.Totals.CostUSD); diff != "" {
				t.Errorf("total (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningOfUnknownTotalNamesJobs(t *testing.T) {
	r := reporttest.Fold(t, reporttest.Planned("a", "b", "c"),
		reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, Turns: 1}),
		reporttest.JobEnded("b", event.JobEnd{Outcome: event.Passed, Turns: 1, CostUSD: reporttest.Costs(1.0)}),
		reporttest.JobEnded("c", event.JobEnd{Outcome: event.Passed, Turns: 2}),
		reporttest.RunEnded(event.Passed, 0))
	want := []report.Warning{{Message: "the cost of the run is unknown, because the cost of these jobs is unknown: a, c"}}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCallsAreIdentifiedBySessionTurnAndID(t *testing.T) {
	r := reporttest.Fold(t, reporttest.Planned("a"), reporttest.Started("a"),
		reporttest.Called("s", 1, "y", event.CallPending), reporttest.Called("s", 1, "x", event.CallPending), // while the response streams
		reporttest.Called("s", 1, "x", event.CallPending), reporttest.Called("s", 1, "y", event.CallPending),
		reporttest.Called("s", 1, "x", event.CallRunning), reporttest.Called("s", 1, "x", event.CallCompleted),
		reporttest.Called("s", 1, "y", event.CallDenied), reporttest.TurnEnded("s", 1, reporttest.Costs(0.5)),
		reporttest.Called("s", 2, "x", event.CallCompleted), reporttest.Called("s", 2, "x", event.CallError), reporttest.TurnEnded("s", 2, reporttest.Costs(0.3)),
		reporttest.Called("s.1", 1, "x", event.CallRunning),
		reporttest.Called("s", 3, "x", event.CallPending), reporttest.Called("s", 3, "y", event.CallRunning), reporttest.TurnEnded("s", 3, reporttest.Costs(0.1)),
		reporttest.Called("s", 5, "x", event.CallPending),
		reporttest.Called("s", 4, "x", event.CallPending), reporttest.Called("s.1", 4, "x", event.CallPending), reporttest.Called("s", 4, "y", event.CallPending), retried("s", 4),
		reporttest.Called("s", 4, "z", event.CallPending), reporttest.Called("s", 4, "z", event.CallCompleted), reporttest.TurnEnded("s", 4, reporttest.Costs(0.2)))
	type call struct {
		Session string
		Turn    int
		ID      string
		Status  event.CallStatus
		Error   string
		Share   *money.USD
	}
	var got []call
	for _, c := range r.Jobs[0].Calls {
		got = append(got, call{c.Session, c.Turn, c.ID, c.Status, c.Error, c.CostShareUSD})
	}
	want := []call{
		{"s", 1, "x", event.CallCompleted, "", reporttest.Costs(0.25)},
		{"s", 1, "y", event.CallDenied, "", reporttest.Costs(0.25)},
		{"s", 2, "x", event.CallCompleted, "", reporttest.Costs(0.15)},
		{"s", 2, "x", event.CallError, "", reporttest.Costs(0.15)},
		{"s.1", 1, "x", event.CallError, "interrupted", nil},
		{"s", 3, "y", event.CallError, "interrupted", reporttest.Costs(0.1)},
		{"s", 5, "x", event.CallError, "interrupted", nil},
		{"s.1", 4, "x", event.CallError, "interrupted", nil},
		{"s", 4, "z", event.CallCompleted, "", reporttest.Costs(0.2)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Run.Totals.ToolCalls != 9 || r.Run.Totals.DeniedCalls != 1 || len(r.Jobs[0].Denied) != 1 {
		t.Errorf("totals: %+v", r.Run.Totals)
	}
}

func TestCostOfDeniedCalls(t *testing.T) {
	r := reporttest.Fold(t, reporttest.Planned("a", "b"),
		reporttest.Called("s", 1, "x", event.CallDenied), reporttest.Called("s", 1, "y", event.CallDenied), reporttest.Called("s", 1, "z", event.CallCompleted), reporttest.TurnEnded("s", 1, reporttest.Costs(0.3)),
		reporttest.Called("s", 2, "x", event.CallCompleted), reporttest.TurnEnded("s", 2, reporttest.Costs(0.5)),
		reporttest.Called("s.1", 1, "x", event.CallDenied), reporttest.TurnEnded("s.1", 1, reporttest.Costs(0.1)))
	if j := r.Jobs[0]; j.DeniedTurns != 2 || j.DeniedCost == nil || *j.DeniedCost != 300_000_000 {
		t.Errorf("%d turns, %v", j.DeniedTurns, j.DeniedCost)
	}
	if tot := r.Run.Totals; tot.DeniedCalls != 3 || tot.DeniedTurns != 2 || *tot.DeniedCost != 300_000_000 {
		t.Errorf("totals: %+v", tot)
	}
	r = reporttest.Fold(t, reporttest.Planned("a"), reporttest.Called("s", 1, "x", event.CallDenied), reporttest.TurnEnded("s", 1, nil))
	if j := r.Jobs[0]; j.DeniedTurns != 1 || j.DeniedCost != nil || r.Run.Totals.DeniedCost != nil {
		t.Errorf("%d turns, %v of a cost that nobody knows", j.DeniedTurns, j.DeniedCost)
	}
}

func TestTotalsAddUp(t *testing.T) {
	r := reporttest.Fold(t, reporttest.Planned("a", "b", "c", "d"),
		reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, Turns: 2, Usage: money.Usage{Input: 5, Output: 2}, CostUSD: reporttest.Costs(0.1)}),
		event.Event{Type: event.ChangesFound, Job: "a", Changes: []event.Change{{Path: "x", Kind: "added"}, {Path: "y", Kind: "deleted"}}},
		reporttest.JobEnded("b", event.JobEnd{Outcome: event.Limit, Turns: 3, Usage: money.Usage{Input: 7, CacheRead: 1}, CostUSD: reporttest.Costs(0.2)}),
		reporttest.JobEnded("c", event.JobEnd{Outcome: event.Cancelled}),
		reporttest.RunEnded(event.Limit, event.ExitLimit))
	want := report.Totals{
		Jobs: 4, Passed: 1, Failed: 2, Skipped: 1, Turns: 5, Changes: 2,
		Usage: money.Usage{Input: 12, Output: 2, CacheRead: 1}, CostUSD: reporttest.Costs(0.3), DeniedCost: reporttest.Costs(0.0),
	}
	if diff := cmp.Diff(want, r.Run.Totals); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJobsAreInTheOrderOfThePlan(t *testing.T) {
	r := reporttest.Fold(t, reporttest.Planned("c", "a", "b"), reporttest.Started("b"), reporttest.Started("stray"), reporttest.Started("a"))
	var ids []string
	for _, j := range r.Jobs {
		ids = append(ids, j.ID)
	}
	if diff := cmp.Diff([]string{"c", "a", "b", "stray"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w := r.Warnings[0]; w.Job == nil || *w.Job != "stray" {
		t.Errorf("no warning of the job that the plan lacks: %v", r.Warnings)
	}
}

func TestUnknownEnumValuesAreReplaced(t *testing.T) {
	odd := reporttest.Called("s", 1, "x", "paused")
	odd.Call.Decision = &event.Decision{Effect: "ask"}
	r := reporttest.Fold(t, reporttest.Planned("a"),
		event.Event{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Sandbox: event.Sandbox{Level: "C"}}},
		event.Event{Type: "coffee.made", Job: "nobody"}, odd,
		event.Event{Type: event.ChangesFound, Job: "a", Changes: []event.Change{{Path: "x", Kind: "renamed"}}},
		reporttest.JobEnded("a", event.JobEnd{Outcome: "great"}), reporttest.RunEnded("fine", 0))
	validJSON(t, compileSchema(t), reporttest.Render(t, report.JSON, r))
	j := r.Jobs[0]
	got := []string{string(r.Run.Outcome), string(j.Outcome), j.Sandbox.Level, j.Changes[0].Kind, string(j.Calls[0].Status), j.Calls[0].Decision.Effect}
	if diff := cmp.Diff([]string{"error", "error", "none", "modified", "error", "deny"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if odd.Call.Decision.Effect != "ask" {
		t.Error("the event's own decision was changed")
	}
	for _, word := range []string{`"fine"`, `"great"`, `"C"`, `"renamed"`, `"paused"`, `"ask"`} {
		if !strings.Contains(reporttest.Render(t, summary.Text, r), word) {
			t.Errorf("no warning of %s", word)
		}
	}
	if len(r.Jobs) != 1 {
		t.Error("an event of an unknown type made a job")
	}
}

func TestInvalidJSONOfAModel(t *testing.T) {
	deep := strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000)
	for name, c := range map[string]struct{ input, want string }{
		"none":             {``, `null`},
		"an object":        {`{"b": 1, "a": [ 2.50, 1e400 ]}`, `{"b": 1, "a": [2.50, 1e400]}`},
		"escapes":          {`"\u003c\u0041\u00e9<\/\ud83d\ude00"`, `"<Aé</😀"`},
		"a lone surrogate": {`"\ud800x"`, `"` + "\ufffd" + `x"`},
		"invalid UTF-8":    {"\"\xff\"", `"` + "\ufffd" + `"`},
		"hidden text":      {"\"\u202e\U000e0041\\u009b\"", `"\u202e\udb40\udc41\u009b"`},
		"a runner command": {`"##[error]"`, `"#\u0023[error]"`},
		"no JSON":          {`{"a": `, `"{\"a\": "`},
		"deep nesting":     {deep, `"` + deep + `"`},
		"just not deep":    {strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100), strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100)},
	} {
		t.Run(name, func(t *testing.T) {
			e := reporttest.Called("s", 1, "x", event.CallCompleted)
			e.Call.Input = json.RawMessage(c.input)
			text := reporttest.Render(t, report.JSON, reporttest.Fold(t, reporttest.Planned("a"), e))
			if want := `"input": ` + c.want + `,`; !strings.Contains(text, want) {
				t.Errorf("the report lacks %.200s:\n%.3000s", want, text)
			}
			validJSON(t, compileSchema(t), text)
		})
	}
}

func TestTimesAreUTCWithMilliseconds(t *testing.T) {
	for want, at := range map[string]time.Time{
		`"2026-03-04T08:30:00.999Z"`: time.Date(2026, 3, 4, 9, 30, 0, 999999999, time.FixedZone("", 3600)),
		`"2026-03-04T08:30:00.000Z"`: time.Date(2026, 3, 4, 8, 30, 0, 0, time.UTC),
		`null`:                       {},
	} {
		got, err := json.Marshal(report.Time{Time: at})
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, want %s (%v)", at, got, want, err)
		}
	}
	e := reporttest.Called("s", 1, "x", event.CallCompleted)
	e.Call.StartedAt = time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
	if at := reporttest.Fold(t, e).Jobs[0].Calls[0].StartedAt; !at.IsZero() {
		t.Errorf("a time that RFC 3339 can't write is reported as %s", at)
	}
}

func TestFieldsOfABulkRun(t *testing.T) {
	published := event.Event{Type: event.CommitPublished, Job: "a", Published: &event.Published{Remote: "https://git.example.com/shop", Branch: "b", Hash: "h", Replaced: "g"}}
	start := reporttest.Planned("a", "b")
	start.Run.Shard = &event.Shard{Index: 2, Total: 3}
	start.Run.Elsewhere = []event.PlannedJob{{ID: "c", Shard: 1}}
	requested := published
	requested.Published = &event.Published{Remote: "https://git.example.com/shop", Branch: "b", Hash: "h", Replaced: "g", PullRequest: &event.PullRequest{URL: "https://git.example.com/shop/pull/7", Number: 7, State: "open", Created: true}}
	r := reporttest.Fold(t, start, reporttest.Started("a"), published, requested, reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed}),
		reporttest.JobEnded("b", event.JobEnd{Outcome: event.Skipped, Reason: "it is there", Code: event.CodeBranchExists}), reporttest.RunEnded(event.Passed, 0))
	if diff := cmp.Diff(&event.Shard{Index: 2, Total: 3}, r.Run.Shard); diff != "" {
		t.Errorf("shard (-want +got):\n%s", diff)
	}
	if len(r.Jobs) != 2 {
		t.Fatalf("%d jobs: those of other shards are not the run's", len(r.Jobs))
	}
	if diff := cmp.Diff(&report.Published{Remote: "https://git.example.com/shop", Branch: "b", Hash: "h", Replaced: "g"}, r.Jobs[0].Published); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(requested.Published.PullRequest, r.Jobs[0].PullRequest); diff != "" {
		t.Errorf("pull request (-want +got):\n%s", diff)
	}
	if r.Jobs[0].ReasonCode != "" || r.Jobs[1].ReasonCode != "branch_exists" || r.Jobs[1].Published != nil {
		t.Errorf("codes %q and %q", r.Jobs[0].ReasonCode, r.Jobs[1].ReasonCode)
	}
	validJSON(t, compileSchema(t), reporttest.Render(t, report.JSON, r))
}

func TestCommentOfAJob(t *testing.T) {
	announced := event.Event{Type: event.CommentStarted, Job: "a", Comment: &event.Comment{Remote: "https://git.example.com/shop", Number: 7}}
	posted := event.Event{Type: event.CommentPosted, Job: "a", Comment: &event.Comment{Remote: "https://git.example.com/shop", Number: 7, URL: "https://git.example.com/shop/pull/7#c1", Created: true}}
	r := reporttest.Fold(t, reporttest.Planned("a", "b"), reporttest.Started("a"), announced, posted, reporttest.Started("b"), announced)
	if diff := cmp.Diff(&report.Comment{URL: "https://git.example.com/shop/pull/7#c1", Created: true}, r.Jobs[0].Comment); diff != "" || r.Jobs[1].Comment != nil {
		t.Errorf("comment (-want +got):\n%s %v", diff, r.Jobs[1].Comment)
	}
	if page := reporttest.Render(t, summary.Markdown, r); !strings.Contains(page, "https://git.example.com/shop/pull/7#c1") {
		t.Errorf("summary.md lacks the comment:\n%s", page)
	}
	validJSON(t, compileSchema(t), reporttest.Render(t, report.JSON, r))
}

// A request of a later process replaces that of an earlier one.
func TestRequestsOfAJob(t *testing.T) {
	request := func(id, label string, outcome event.RequestOutcome, reason string) event.Event {
		return event.Event{Type: event.ForgeRequestEnded, Job: "a", ForgeRequest: &event.ForgeRequest{ID: id, Kind: event.LabelRequest, Label: label, Outcome: outcome, Reason: reason}}
	}
	r := reporttest.Fold(t, reporttest.Planned("a"), reporttest.Started("a"), request("1", "bug", event.RequestFailed, "down"), request("2", "x", event.RequestRefused, "no"), request("1", "bug", event.RequestDone, ""))
	want := []report.Request{
		{Kind: event.LabelRequest, Label: "bug", Outcome: event.RequestDone},
		{Kind: event.LabelRequest, Label: "x", Outcome: event.RequestRefused, Reason: "no"},
	}
	if diff := cmp.Diff(want, r.Jobs[0].Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if page := reporttest.Render(t, summary.Markdown, r); !strings.Contains(page, `label "bug"`) {
		t.Errorf("summary.md lacks the request:\n%s", page)
	}
	validJSON(t, compileSchema(t), reporttest.Render(t, report.JSON, r))
}

// A resumed run ends a job that went on once more; a merged stream has the
// ends of the job's earlier runs before those of the last.
func TestJobThatEndsTwice(t *testing.T) {
	first := reporttest.JobEnded("a", event.JobEnd{Outcome: event.Failed, Turns: 2, Usage: money.Usage{Input: 5}, CostUSD: reporttest.Costs(0.5)})
	last := reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, Turns: 3, Usage: money.Usage{Input: 7}, CostUSD: reporttest.Costs(0.25)})
	type result struct{ Reruns, Turns, Input int }
	for name, c := range map[string]struct {
		events []event.Event
		want   result
	}{
		"after a resume":                   {[]event.Event{reporttest.Planned("a"), first, reporttest.Planned("a"), last}, result{0, 3, 7}},
		"after a resume that restarted it": {[]event.Event{reporttest.Planned("a"), first, reporttest.Planned("a"), reporttest.Started("a"), last}, result{0, 3, 7}},
		"in a merged stream":               {[]event.Event{reporttest.Planned("a"), first, reporttest.Started("a"), last}, result{1, 5, 12}},
		"in one that never began it again": {[]event.Event{reporttest.Planned("a"), first, first, last}, result{2, 7, 17}},
		"and is still at work":             {[]event.Event{reporttest.Planned("a"), first, reporttest.Started("a")}, result{1, 2, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			j := reporttest.Fold(t, c.events...).Jobs[0]
			if diff := cmp.Diff(c.want, result{j.Reruns, j.Turns, int(j.Usage.Input)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSessionCountsPrunesAndCompactions(t *testing.T) {
	made := func(kind event.Type, session string) event.Event {
		return event.Event{Type: kind, Job: "a", Session: session, Prune: &event.Prune{}, Compaction: &event.Compaction{}}
	}
	r := reporttest.Fold(t, reporttest.Planned("a"), reporttest.Started("a"), reporttest.TurnEnded("s", 1, nil), made(event.Pruned, "s"), made(event.Pruned, "s"), made(event.Compacted, "s"), reporttest.TurnEnded("t", 1, nil), made(event.Compacted, "t"))
	var got [][2]int
	for _, s := range r.Jobs[0].Sessions {
		got = append(got, [2]int{s.Prunes, s.Compactions})
	}
	if diff := cmp.Diff([][2]int{{2, 1}, {0, 1}}, got); diff != "" {
		t.Errorf("prunes and compactions of the sessions (-want +got):\n%s", diff)
	}
}

func TestTheReportOfOneJobIsThatOfAll(t *testing.T) {
	var f report.Fold
	for _, e := range []event.Event{reporttest.Planned("a", "b"), reporttest.Started("a"), reporttest.TurnEnded("s", 1, reporttest.Costs(0.5)), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, Turns: 1, CostUSD: reporttest.Costs(0.5)})} {
		f.Emit(e)
	}
	want := f.Report().Jobs
	for i, id := range []string{"a", "b"} {
		got, ok := f.Job(id)
		if d := cmp.Diff(want[i], got, cmp.AllowUnexported(report.Job{})); !ok || d != "" {
			t.Errorf("job %s: %v (-want +got):\n%s", id, ok, d)
		}
	}
	if _, ok := f.Job("c"); ok {
		t.Error("an unknown job has a report")
	}
}

// TestAResumedJobHasOnlyThePhasesOfItsLastProcess reports the phases of the last process of a run, with their times.
func TestAResumedJobHasOnlyThePhasesOfItsLastProcess(t *testing.T) {
	phase := func(kind event.Type, name string, ms int64) event.Event {
		return event.Event{Type: kind, Job: "a", Phase: &event.Phase{Name: name, ElapsedMS: ms}}
	}
	run := event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "a"}}}}
	events := []event.Event{run, phase(event.PhaseStarted, "prepare", 0), phase(event.PhaseEnded, "prepare", 1000), phase(event.PhaseStarted, "session", 0), phase(event.PhaseEnded, "session", 1)}
	var got []string
	for _, p := range reporttest.Fold(t, events...).Jobs[0].Phases {
		got = append(got, fmt.Sprint(p.Name, " ", p.StartedAt.Second(), " ", p.ElapsedMS))
	}
	again := reporttest.Fold(t, append(events, run, phase(event.PhaseEnded, "prepare", 7))...).Jobs[0]
	want := []string{"prepare 2 1000", "session 5 1"}
	if diff := cmp.Diff(want, got); diff != "" || len(again.Phases) != 1 || again.Phases[0].ElapsedMS != 7 || again.StartedAt.Second() != 2 {
		t.Errorf("%s; after a resume %v, started at %v", diff, again.Phases, again.StartedAt)
	}
}

// TestBaseOfTheChanges checks that the base of a job is what its patch is relative to, also after
// its commits were applied to another base, and that a partial patch is recognized.
func TestBaseOfTheChanges(t *testing.T) {
	start := func(base, onto string) event.Event {
		return event.Event{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{Base: base, Onto: onto}}
	}
	commit := func(hash string) event.Event {
		return event.Event{Type: event.Committed, Job: "a", Commit: &event.Commit{Hash: hash}}
	}
	attempt := event.Event{Type: event.AttemptStarted, Job: "a", Attempt: &event.Attempt{Number: 2}}
	end := reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed})
	first := []event.Event{reporttest.Planned("a"), start("main", ""), commit("c1"), end}
	for name, c := range map[string]struct {
		events    []event.Event
		base      string
		continued bool
	}{
		"one session":               {nil, "main", false},
		"rebased without a session": {[]event.Event{reporttest.Planned("a"), start("c2", "c1"), commit("c2"), end}, "main", false},
		"rebased by a session":      {[]event.Event{reporttest.Planned("a"), start("newer", "c1"), attempt, commit("c2"), end}, "newer", false},
		"another prompt":            {[]event.Event{reporttest.Planned("a"), start("c1", ""), attempt, commit("c2"), end}, "c1", true},
		"and rebased":               {[]event.Event{reporttest.Planned("a"), start("c1", ""), attempt, commit("c2"), end, reporttest.Planned("a"), start("c3", "c2"), commit("c3"), end}, "c1", true},
	} {
		j := reporttest.Fold(t, slices.Concat(first, c.events)...).Jobs[0]
		if j.Base == nil || j.Base.Commit != c.base || j.Continued() != c.continued {
			t.Errorf("%s: the base is %v, continued %t", name, j.Base, j.Continued())
		}
	}
}

// Those who read the report after a run share one: it is the largest value of a process.
func TestReportIsMadeOnce(t *testing.T) {
	var f report.Fold
	f.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r", Jobs: []event.PlannedJob{{ID: "a"}}}})
	first := f.Report()
	f.Emit(event.Event{Type: event.Sealed})
	if f.Report() != first {
		t.Error("the report of the same events is another one")
	}
	f.Emit(event.Event{Type: event.RunEnded, RunEnd: &event.RunEnd{Outcome: event.Passed}})
	if last := f.Report(); last == first || first.Run.Outcome == event.Passed || last.Run.Outcome != event.Passed {
		t.Errorf("outcomes %s and %s", first.Run.Outcome, last.Run.Outcome)
	}
}

// At the end of a run, its reports are written again if the run fails meanwhile.
func TestReportsAreWrittenAgainIfTheRunFailsMeanwhile(t *testing.T) {
	events := []event.Event{
		reporttest.Planned("a", "b", "c"), reporttest.Started("a"), reporttest.Called("s", 1, "x", event.CallCompleted), reporttest.TurnEnded("s", 1, reporttest.Costs(0.5)),
		reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, Turns: 1, CostUSD: reporttest.Costs(0.5)}), reporttest.Started("b"), reporttest.RunEnded(event.Cancelled, event.ExitInterrupt),
	}
	failed := []event.Event{{Type: event.WarningIssued, Job: "a", Warning: &event.Warning{Message: "the disk is full"}}, reporttest.RunEnded(event.Error, event.ExitInternal)}
	for name, later := range map[string]event.Event{"known values": reporttest.Started("b"), "an unknown outcome": reporttest.JobEnded("b", event.JobEnd{Outcome: "great"})} {
		t.Run(name, func(t *testing.T) {
			var live, final report.Fold
			emit := func(list ...event.Event) {
				for _, e := range list {
					if err := errors.Join(live.Emit(e), final.Emit(e)); err != nil {
						t.Error(err)
					}
				}
			}
			same := func() {
				t.Helper()
				if diff := cmp.Diff(reporttest.Render(t, report.JSON, live.Report()), reporttest.Render(t, report.JSON, final.Final())); diff != "" {
					t.Errorf("(-report +final):\n%s", diff)
				}
			}
			emit(events...)
			same()
			emit(failed...)
			same()
			emit(later) // of a job that had not ended
			same()
			if err := final.Emit(reporttest.Started("a")); err != nil {
				t.Errorf("a late event of a job that ended ends the run: %v", err)
			}
			if text := reporttest.Render(t, report.JSON, final.Final()); name == "known values" && !strings.Contains(text, "job.started came after the job's report was made") {
				t.Error("no warning of a late event")
			}
		})
	}
}

// A run of 10,000 jobs has the memory for its final report, but not for what each job consisted of, too.
func TestFinalReportReleasesJobs(t *testing.T) {
	const jobs, most = 200, 2 << 10
	stream := shards(t, 1, jobs, 10)[0].stream
	var f report.Fold
	if _, err := event.Read(bytes.NewReader(stream), f.Emit); err != nil {
		t.Fatal(err)
	}
	used := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // of what the first one has only made unreachable
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	r := f.Final()
	with := used()
	runtime.KeepAlive(&f)
	f = report.Fold{}
	if left := (with - used()) / jobs; left > most {
		t.Errorf("beside the report, %d bytes are used for each job", left)
	} else {
		t.Logf("%d bytes for each job", left)
	}
	runtime.KeepAlive(r)
}
