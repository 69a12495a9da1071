package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// saved is a stored run to be merged.
type saved struct {
	name   string
	stream []byte
}

func inputsOf(runs ...saved) []report.Input {
	var out []report.Input
	for _, run := range runs {
		out = append(out, report.Input{Name: run.name, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(run.stream)), nil
		}})
	}
	return out
}

// merge also holds what is true of every merge: the stream is numbered without
// gaps, folds to the report, and does not depend on the order of the parts.
func merge(tb testing.TB, runs ...saved) (*report.Merged, []byte) {
	tb.Helper()
	var b bytes.Buffer
	merged, err := report.Merge(&b, inputsOf(runs...), event.FailOnAny)
	if err != nil {
		tb.Fatal(err)
	}
	next, last := int64(1), event.Event{}
	if _, err := event.Read(bytes.NewReader(b.Bytes()), func(e event.Event) error {
		if e.Seq != next {
			tb.Errorf("event %d has the number %d", next, e.Seq)
		}
		next, last = next+1, e
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	if last.Type != event.RunEnded || last.RunEnd.ExitCode != merged.Exit {
		tb.Errorf("the stream ends with %+v, the exit code is %d", last, merged.Exit)
	}
	for ending, write := range writers() {
		if diff := cmp.Diff(reporttest.Render(tb, write, reporttest.Load(tb, b.Bytes())), reporttest.Render(tb, write, merged.Report)); diff != "" {
			tb.Fatalf("%s (-stored +returned):\n%s", ending, diff)
		}
	}
	for range len(runs) - 1 {
		runs = append(slices.Clone(runs[1:]), runs[0])
		var again bytes.Buffer
		if _, err := report.Merge(&again, inputsOf(runs...), event.FailOnAny); err != nil {
			tb.Fatal(err)
		}
		if diff := cmp.Diff(b.String(), again.String()); diff != "" {
			tb.Fatalf("in another order (-want +got):\n%s", diff)
		}
	}
	return merged, b.Bytes()
}

// timeOf is that many minutes after the start of the tests.
func timeOf(minutes int) time.Time {
	return time.Date(2026, 3, 4, 9, 30, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

// store stores events as a run that started at that minute.
func store(tb testing.TB, minute int, events ...event.Event) []byte {
	tb.Helper()
	now := timeOf(minute)
	var b bytes.Buffer
	s := event.NewStream(func() time.Time { now = now.Add(time.Second); return now }, event.JSONL(&b))
	for _, e := range events {
		s.Emit(e)
	}
	if err := s.Err(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// bulkPlan has tasks × repositories; every third job is in the same shard.
func bulkPlan() []event.PlannedJob {
	var jobs []event.PlannedJob
	for _, task := range []string{"deps", "docs"} {
		for _, repo := range []string{"shop", "api", "web", "site"} {
			jobs = append(jobs, event.PlannedJob{
				ID: task + "-" + repo, Task: task, Repo: repo, Matrix: map[string]string{"v": "1"}, Model: "script:s.yaml", Profile: "edit",
				Index: len(jobs) + 1, Location: "/src/" + repo,
			})
		}
	}
	return jobs
}

// live are the events of a job of the bulk plan, as it ended in that run.
func live(run string, j event.PlannedJob) []event.Event {
	session := run + "/" + j.ID
	about := func(e event.Event) event.Event {
		e.Job = j.ID
		return e
	}
	events := []event.Event{
		about(event.Event{Type: event.JobStarted, JobStart: &event.JobStart{Sandbox: event.Sandbox{Level: "A", FS: true}, Branch: "millhand/" + j.Task}}),
		about(event.Event{Type: event.SessionStarted, Session: session, SessionInfo: &event.Session{Agent: "build", Model: j.Model}}),
		about(event.Event{Type: event.TurnStarted, Session: session, Turn: &event.Turn{Number: 1}}),
		about(event.Event{Type: event.CallUpdated, Session: session, Call: &event.Call{ID: "c", Turn: 1, Tool: "edit", Input: []byte(`{"filePath":"a"}`), Status: event.CallCompleted}}),
		about(event.Event{Type: event.WarningIssued, Warning: &event.Warning{Message: "the job's own"}}),
		about(event.Event{Type: event.TurnEnded, Session: session, Turn: &event.Turn{Number: 1, Usage: &money.Usage{Input: 100, Output: 7}, CostUSD: reporttest.Costs(0.25)}}),
		about(event.Event{Type: event.VerifyEnded, Verify: &event.Verify{Name: "test", Attempt: 1, Passed: true}}),
		about(event.Event{Type: event.ChangesFound, Changes: []event.Change{{Path: "a", Kind: "modified", Added: 1}}}),
	}
	end := event.JobEnd{Outcome: event.Passed, Attempts: 1, Turns: 1, ElapsedMS: 5, Usage: money.Usage{Input: 100, Output: 7}, CostUSD: reporttest.Costs(0.25)}
	switch j.ID {
	case "deps-web":
		end.Outcome, end.Reason, end.ExitCode = event.Failed, "the tests fail", event.ExitFailed
	case "docs-api":
		end.Outcome, end.Reason, end.ExitCode, end.Code = event.Publish, "push: refused", event.ExitPublish, event.CodeLease
	case "docs-site":
		return []event.Event{reporttest.JobEnded(j.ID, event.JobEnd{Outcome: event.Skipped, Reason: "it needs deps-web", Code: event.CodeNeed, CostUSD: reporttest.Costs(0.0)})}
	default:
		events = append(events,
			about(event.Event{Type: event.Committed, Commit: &event.Commit{Hash: "0123456789", Branch: "millhand/" + j.Task, Message: "m"}}),
			about(event.Event{Type: event.CommitPublished, Published: &event.Published{Remote: "https://git.example.com/" + j.Repo, Branch: "millhand/" + j.Task, Hash: "0123456789"}}))
	}
	return append(events, reporttest.JobEnded(j.ID, end))
}

// bulkRun is a run of the bulk plan or, if total is not 0, of one shard of it.
func bulkRun(tb testing.TB, id string, minute, index, total int) []byte {
	tb.Helper()
	run := &event.Run{ID: id, Manifest: []string{"m.yaml"}, PlanHash: "9b1c", Version: "0.2.0", Jobs: []event.PlannedJob{}}
	if total > 0 {
		run.Shard = &event.Shard{Index: index, Total: total}
	}
	events := []event.Event{{Type: event.RunStarted, Run: run}, {Type: event.WarningIssued, Warning: &event.Warning{Message: "no sandbox"}}}
	var codes []event.Exit
	for i, j := range bulkPlan() {
		if total > 0 {
			j.Shard = i%total + 1
		}
		if j.Shard != index {
			run.Elsewhere = append(run.Elsewhere, j)
			continue
		}
		run.Jobs = append(run.Jobs, j)
		events = append(events, live(id, j)...)
		codes = append(codes, events[len(events)-1].JobEnd.ExitCode)
	}
	exit := event.Worst(codes)
	return store(tb, minute, append(events, reporttest.RunEnded(exit.OutcomeOf(), exit))...)
}

// timeless removes from a report what two runs of one plan never share.
func timeless(r *report.Report, runs ...string) *report.Report {
	r.Run.ID, r.Run.StartedAt, r.Run.FinishedAt, r.Run.ElapsedMS = "", report.Time{}, report.Time{}, 0
	for i := range r.Jobs {
		r.Jobs[i].StartedAt = report.Time{}
		for k := range r.Jobs[i].Verify {
			r.Jobs[i].Verify[k].StartedAt = report.Time{}
		}
		for k := range r.Jobs[i].Sessions {
			for n := range r.Jobs[i].Sessions[k].TurnCosts {
				r.Jobs[i].Sessions[k].TurnCosts[n].StartedAt = report.Time{}
			}
			for _, run := range runs {
				r.Jobs[i].Sessions[k].ID = strings.TrimPrefix(r.Jobs[i].Sessions[k].ID, run)
			}
		}
		for k := range r.Jobs[i].Calls {
			r.Jobs[i].Calls[k].Session = ""
		}
	}
	return r
}

func TestMergedShardsEqualTheCompleteRun(t *testing.T) {
	complete := timeless(reporttest.Load(t, bulkRun(t, "w", 0, 0, 0)), "w")
	for total := 1; total <= 9; total++ { // the ninth shard has no job
		var runs []saved
		var ids []string
		for i := 1; i <= total; i++ {
			id := fmt.Sprint("s", 10-i)
			ids = append(ids, id)
			runs = append(runs, saved{"dir/" + id, bulkRun(t, id, 20-i, i, total)})
		}
		merged, _ := merge(t, runs...)
		if merged.Exit != complete.Run.ExitCode {
			t.Errorf("%d shards exit with %d, the whole run with %d", total, merged.Exit, complete.Run.ExitCode)
		}
		got := timeless(merged.Report, ids...)
		slices.SortFunc(got.Warnings, byPlan(got)) // jobs of different shards are at work at the same time
		for ending, write := range writers() {
			if diff := cmp.Diff(reporttest.Render(t, write, complete), reporttest.Render(t, write, got)); diff != "" {
				t.Errorf("%d shards, %s (-whole +merged):\n%s", total, ending, diff)
			}
		}
	}
}

// TestMergedRunThatWasResumed merges a run with a job that was killed and started again: what is repeated is
// reported once.
func TestMergedRunThatWasResumed(t *testing.T) {
	run := event.Event{Type: event.RunStarted, Run: &event.Run{ID: "r", PlanHash: "9b1c", Jobs: []event.PlannedJob{{ID: "a", Index: 1}}}}
	begin := []event.Event{
		{Type: event.JobStarted, Job: "a", JobStart: &event.JobStart{}},
		{Type: event.PhaseEnded, Job: "a", Phase: &event.Phase{Name: "prepare", ElapsedMS: 1}},
		{Type: event.BaselineEnded, Job: "a", Baseline: &event.Baseline{Name: "test", Passed: true, In: event.InWorkspace}},
		{Type: event.VerifyEnded, Job: "a", Verify: &event.Verify{Name: "test", Attempt: 1, Passed: true}},
	}
	events := slices.Concat([]event.Event{run}, begin, []event.Event{run}, begin, []event.Event{reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed}), reporttest.RunEnded(event.Passed, event.ExitOK)})
	merged, _ := merge(t, saved{"r", store(t, 0, events...)})
	j := merged.Report.Jobs[0]
	if len(j.Phases) != 1 || len(j.Baseline) != 1 || len(j.Verify) != 1 {
		t.Errorf("phases %v, baseline %v, verify %v", j.Phases, j.Baseline, j.Verify)
	}
}

// byPlan orders warnings by their job's place; those about the run come first.
func byPlan(r *report.Report) func(a, b report.Warning) int {
	position := func(w report.Warning) int {
		if w.Job == nil {
			return -1
		}
		return slices.IndexFunc(r.Jobs, func(j report.Job) bool { return j.ID == *w.Job })
	}
	return func(a, b report.Warning) int { return position(a) - position(b) }
}

func TestMergedRunID(t *testing.T) {
	merged, _ := merge(t, saved{"a", bulkRun(t, "s1", 3, 1, 2)}, saved{"b", bulkRun(t, "s2", 1, 2, 2)})
	run := merged.Report.Run
	// printf 's1\ns2' | sha256sum
	if run.ID != "20260304-093101-1695f73d" {
		t.Errorf("the id is %s", run.ID)
	}
	first, second := reporttest.Load(t, bulkRun(t, "s1", 3, 1, 2)), reporttest.Load(t, bulkRun(t, "s2", 1, 2, 2))
	if !run.StartedAt.Equal(second.Run.StartedAt.Time) || !run.FinishedAt.Equal(first.Run.FinishedAt.Time) {
		t.Errorf("from %s to %s", run.StartedAt, run.FinishedAt)
	}
	if want := run.FinishedAt.Sub(run.StartedAt.Time).Milliseconds(); run.ElapsedMS != want || run.Shard != nil {
		t.Errorf("%d ms, want %d; shard %v", run.ElapsedMS, want, run.Shard)
	}
	sessions := map[string]string{}
	for _, j := range merged.Report.Jobs {
		for _, s := range j.Sessions {
			if other, ok := sessions[s.ID]; ok {
				t.Errorf("session %s is of %s and %s", s.ID, other, j.ID)
			}
			sessions[s.ID] = j.ID
		}
	}
	if merged.Source["deps-shop"] != "a" || merged.Source["deps-api"] != "b" || len(merged.Source) != 8 {
		t.Errorf("sources: %v", merged.Source)
	}
}

// The reports of this stream are golden too, as of every one in testdata. Its
// second shard was run twice and its third is missing.
func TestMergedStreamIsGolden(t *testing.T) {
	_, stream := merge(t, saved{"a", bulkRun(t, "s1", 1, 1, 3)}, saved{"b", bulkRun(t, "s2", 3, 2, 3)}, saved{"c", bulkRun(t, "s2-again", 5, 2, 3)})
	golden(t, "testdata/merged.jsonl", string(stream))
}

// one is a run of job a alone.
func one(tb testing.TB, id string, minute int, events ...event.Event) saved {
	tb.Helper()
	run := &event.Run{ID: id, PlanHash: "h", Version: "v", Jobs: []event.PlannedJob{{ID: "a", Task: "t", Repo: "shop"}}}
	return saved{id, store(tb, minute, append([]event.Event{{Type: event.RunStarted, Run: run}}, events...)...)}
}

// The price table of a merged run is the oldest of its runs.
func TestPriceTableOfMergedRuns(t *testing.T) {
	of := func(id string, table *event.PriceTable) saved {
		run := &event.Run{ID: id, PlanHash: "h", Version: "v", Prices: table, Jobs: []event.PlannedJob{{ID: "a", Task: "t", Repo: "shop"}}}
		return saved{id, store(t, 1, event.Event{Type: event.RunStarted, Run: run}, reporttest.RunEnded(event.Passed, 0))}
	}
	old, recent := &event.PriceTable{Dated: "2026-06-01", Version: "0.1.7"}, &event.PriceTable{Dated: "2026-11-02", Version: "0.1.8"}
	merged, _ := merge(t, of("x", recent), of("y", nil), of("z", old))
	if diff := cmp.Diff(old, merged.Report.Run.Prices); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// done is a run of job a that came to that end, with what it cost.
func done(tb testing.TB, id string, minute int, outcome event.Outcome, exit event.Exit, usd float64) saved {
	tb.Helper()
	return one(tb, id, minute, reporttest.Started("a"), reporttest.TurnEnded(id+"/a", 1, reporttest.Costs(usd)),
		event.Event{Type: event.ChangesFound, Job: "a", Changes: []event.Change{{Path: id, Kind: "added"}}},
		reporttest.JobEnded("a", event.JobEnd{Outcome: outcome, Reason: id, ExitCode: exit, Turns: 1, Usage: money.Usage{Input: 10, Output: 1}, CostUSD: reporttest.Costs(usd)}),
		reporttest.RunEnded(outcome, exit))
}

// superseded is a run that never began job a.
func superseded(tb testing.TB, id string, minute int, outcome event.Outcome, exit event.Exit) saved {
	tb.Helper()
	return one(tb, id, minute, reporttest.JobEnded("a", event.JobEnd{Outcome: outcome, Reason: id, ExitCode: exit, CostUSD: reporttest.Costs(0.0)}), reporttest.RunEnded(outcome, exit))
}

func TestMergeSelectsRunOfJob(t *testing.T) {
	type result struct {
		Source  string
		Outcome event.Outcome
		Reason  string
		Reruns  int
		Turns   int
		Cost    *money.USD
		Exit    event.Exit
	}
	killed := func(id string, minute int) saved {
		return one(t, id, minute, reporttest.Started("a"), reporttest.TurnEnded(id+"/a", 1, reporttest.Costs(0.5)))
	}
	cloneFailed := func(id string, minute int) saved {
		return one(t, id, minute, reporttest.JobEnded("a", event.JobEnd{Outcome: event.Error, Reason: id, ExitCode: event.ExitPublish, CostUSD: reporttest.Costs(0.0)}), reporttest.RunEnded(event.Error, 7))
	}
	interrupted := one(t, "int", 5, reporttest.Started("a"), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Cancelled, Reason: "int", ExitCode: event.ExitFailed, CostUSD: reporttest.Costs(0.0)}), reporttest.RunEnded(event.Cancelled, event.ExitInterrupt))
	resumed := one(t, "res", 1, reporttest.Started("a"), reporttest.TurnEnded("res/a", 1, reporttest.Costs(0.5)), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Cancelled, Turns: 1, CostUSD: reporttest.Costs(0.5)}),
		event.Event{Type: event.RunStarted, Run: &event.Run{ID: "res", PlanHash: "h", Jobs: []event.PlannedJob{{ID: "a"}}}},
		reporttest.Started("a"), reporttest.TurnEnded("res/a", 2, reporttest.Costs(0.25)), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Passed, Turns: 2, CostUSD: reporttest.Costs(0.75)}), reporttest.RunEnded(event.Passed, 0))
	for name, c := range map[string]struct {
		runs []saved
		want result
	}{
		"the last": {
			[]saved{done(t, "x", 2, event.Passed, 0, 0.5), done(t, "y", 1, event.Failed, 1, 0.25)},
			result{"x", event.Passed, "x", 1, 2, reporttest.Costs(0.75), 0},
		},
		"the last, though it is worse": {
			[]saved{done(t, "x", 1, event.Passed, 0, 0.5), done(t, "y", 2, event.Policy, 3, 0.25)},
			result{"y", event.Policy, "y", 1, 2, reporttest.Costs(0.75), 3},
		},
		"of those that started at once the last by id": {
			[]saved{done(t, "y", 1, event.Passed, 0, 0.5), done(t, "x", 1, event.Failed, 1, 0.25)},
			result{"y", event.Passed, "y", 1, 2, reporttest.Costs(0.75), 0},
		},
		"the one that passed, not one that was skipped later": {
			[]saved{done(t, "x", 1, event.Passed, 0, 0.5), superseded(t, "y", 2, event.Skipped, event.ExitBudget)},
			result{"x", event.Passed, "x", 0, 1, reporttest.Costs(0.5), 0},
		},
		"the one that failed, not one that was cancelled before it began": {
			[]saved{done(t, "x", 1, event.Failed, 1, 0.5), superseded(t, "y", 2, event.Cancelled, event.ExitInterrupt)},
			result{"x", event.Failed, "x", 0, 1, reporttest.Costs(0.5), 1},
		},
		"the one that ran after a skipped one": {
			[]saved{superseded(t, "x", 1, event.Skipped, 5), done(t, "y", 2, event.Passed, 0, 0.5)},
			result{"y", event.Passed, "y", 0, 1, reporttest.Costs(0.5), 0},
		},
		"the last of those that never began": {
			[]saved{superseded(t, "x", 1, event.Skipped, 5), superseded(t, "y", 2, event.Skipped, 0)},
			result{"y", event.Skipped, "y", 0, 0, reporttest.Costs(0.0), 0},
		},
		"one whose repository could not be had": {
			[]saved{done(t, "x", 1, event.Passed, 0, 0.5), cloneFailed("y", 2)},
			result{"y", event.Error, "y", 1, 1, reporttest.Costs(0.5), 7},
		},
		"a killed one": {
			[]saved{done(t, "x", 1, event.Passed, 0, 0.25), killed("y", 2)},
			result{"y", event.Cancelled, "the run ended before the job completed", 1, 2, reporttest.Costs(0.75), event.ExitInternal},
		},
		"after a killed one": {
			[]saved{killed("x", 1), done(t, "y", 2, event.Passed, 0, 0.25)},
			result{"y", event.Passed, "y", 1, 2, reporttest.Costs(0.75), 0},
		},
		"skipped after a killed one": {
			[]saved{killed("x", 1), superseded(t, "y", 2, event.Skipped, 0)},
			result{"y", event.Skipped, "y", 1, 1, reporttest.Costs(0.5), 0},
		},
		"killed before the job began": {
			[]saved{one(t, "x", 1)},
			result{"x", event.Skipped, "the job did not start", 0, 0, reporttest.Costs(0.0), event.ExitInternal},
		},
		"three runs": {
			[]saved{done(t, "x", 1, event.Failed, 1, 0.25), done(t, "y", 2, event.Failed, 1, 0.25), done(t, "z", 3, event.Passed, 0, 0.25)},
			result{"z", event.Passed, "z", 2, 3, reporttest.Costs(0.75), 0},
		},
		"interrupted, and the job with it": {
			[]saved{interrupted},
			result{"int", event.Cancelled, "int", 0, 0, reporttest.Costs(0.0), event.ExitInterrupt},
		},
		"interrupted, and run again": {
			[]saved{interrupted, done(t, "z", 9, event.Passed, 0, 0.25)},
			result{"z", event.Passed, "z", 1, 1, reporttest.Costs(0.25), 0},
		},
		"resumed": {
			[]saved{resumed},
			result{"res", event.Passed, "", 0, 2, reporttest.Costs(0.75), 0},
		},
		"resumed, and run again": {
			[]saved{resumed, done(t, "z", 9, event.Failed, 1, 0.25)},
			result{"z", event.Failed, "z", 1, 3, reporttest.Costs(1.0), 1},
		},
		"a cost that nobody knows": {
			[]saved{
				one(t, "x", 1, reporttest.Started("a"), reporttest.JobEnded("a", event.JobEnd{Outcome: event.Failed, Turns: 2}), reporttest.RunEnded(event.Failed, 1)),
				done(t, "y", 2, event.Passed, 0, 0.25),
			},
			result{"y", event.Passed, "y", 1, 3, nil, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			merged, stream := merge(t, c.runs...)
			j := merged.Report.Jobs[0]
			got := result{merged.Source["a"], j.Outcome, j.Reason, j.Reruns, j.Turns, j.CostUSD, merged.Exit}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if merged.Report.Run.Totals.Turns != j.Turns || !cmp.Equal(merged.Report.Run.Totals.CostUSD, j.CostUSD) {
				t.Errorf("totals: %+v", merged.Report.Run.Totals)
			}
			again, _ := merge(t, saved{"merged", stream})
			j = again.Report.Jobs[0]
			if diff := cmp.Diff(c.want, result{c.want.Source, j.Outcome, j.Reason, j.Reruns, j.Turns, j.CostUSD, again.Exit}); diff != "" {
				t.Errorf("merged once more (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDetailsAreOfTheCountedRun(t *testing.T) {
	merged, _ := merge(t, done(t, "x", 1, event.Failed, 1, 0.5), done(t, "y", 2, event.Passed, 0, 0.25))
	j := merged.Report.Jobs[0]
	if len(j.Changes) != 1 || j.Changes[0].Path != "y" || len(j.Sessions) != 1 || j.Sessions[0].ID != "y/a" {
		t.Errorf("changes %v, sessions %v", j.Changes, j.Sessions)
	}
}

func TestJobsOfAMissingShardAreNotRun(t *testing.T) {
	merged, stream := merge(t, saved{"a", bulkRun(t, "s1", 1, 1, 3)}, saved{"c", bulkRun(t, "s3", 3, 3, 3)})
	var missing []string
	for _, j := range merged.Report.Jobs {
		if j.Outcome == event.Skipped && j.ReasonCode == event.CodeNotRun {
			missing = append(missing, j.ID+": "+j.Reason)
		}
	}
	want := []string{"deps-api: not run: shard 2/3 is missing", "docs-shop: not run: shard 2/3 is missing", "docs-site: not run: shard 2/3 is missing"}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if merged.Exit != event.ExitPublish || merged.Report.Run.ExitCode != event.ExitPublish || len(merged.Report.Jobs) != 8 {
		t.Errorf("exit code %d of %d jobs", merged.Exit, len(merged.Report.Jobs))
	}
	if list := reporttest.Render(t, summary.Failed, merged.Report); !strings.Contains(list, "/src/site\n") {
		t.Errorf("what was not run is not to be run again:\n%s", list)
	}
	for _, failOn := range []event.FailOn{event.FailOnAny, event.FailOnAll, event.FailOnVerify, event.FailOnPolicy, event.FailOnNever} {
		m, err := report.Merge(io.Discard, inputsOf(saved{"a", bulkRun(t, "s1", 1, 1, 3)}), failOn)
		if err != nil || m.Exit != event.ExitFailed {
			t.Errorf("%s: exit code %d, %v", failOn, m.Exit, err)
		}
	}
	complete, _ := merge(t, saved{"merged", stream}, saved{"b", bulkRun(t, "s2", 9, 2, 3)})
	if complete.Report.Run.Totals.Skipped != 1 || complete.Exit != event.ExitPublish {
		t.Errorf("with the missing shard added: exit code %d, %+v", complete.Exit, complete.Report.Run.Totals)
	}
}

func TestReasonOfAJobMissingFromItsShard(t *testing.T) {
	planned := func(id string, shard int) event.PlannedJob { return event.PlannedJob{ID: id, Shard: shard} }
	first := store(t, 1, event.Event{Type: event.RunStarted, Run: &event.Run{ID: "1", Shard: &event.Shard{Index: 1, Total: 2}, Elsewhere: []event.PlannedJob{planned("a", 2), planned("b", 2)}}}, reporttest.RunEnded(event.Passed, 0))
	second := store(t, 1, event.Event{Type: event.RunStarted, Run: &event.Run{ID: "2", Shard: &event.Shard{Index: 2, Total: 2}, Jobs: []event.PlannedJob{planned("b", 2)}}}, reporttest.JobEnded("b", event.JobEnd{Outcome: event.Passed}), reporttest.RunEnded(event.Passed, 0))
	merged, _ := merge(t, saved{"1", first}, saved{"2", second})
	if j := merged.Report.Jobs[1]; j.ID != "a" || j.Reason != "not run: missing from shard 2/2" || merged.Exit != event.ExitFailed {
		t.Errorf("%s: %s, exit code %d", j.ID, j.Reason, merged.Exit)
	}
}

func TestSameRunTwiceIsCountedOnce(t *testing.T) {
	complete := done(t, "x", 1, event.Passed, 0, 0.5)
	torn := saved{"copy", complete.stream[:bytes.LastIndexByte(bytes.TrimSpace(complete.stream), '\n')-5]}
	merged, _ := merge(t, torn, complete)
	j := merged.Report.Jobs[0]
	if merged.Source["a"] != "x" || j.Outcome != event.Passed || j.Reruns != 0 || *j.CostUSD != money.Dollar/2 {
		t.Errorf("from %s: %s after %d, %v", merged.Source["a"], j.Outcome, j.Reruns, *j.CostUSD)
	}
	want := []report.Warning{{Message: "copy and x are the same run x, which is counted once"}}
	if diff := cmp.Diff(want, merged.Report.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMergeRefusesConflictingParts(t *testing.T) {
	run := func(name string, change func(*event.Run)) saved {
		r := &event.Run{ID: name, PlanHash: "h", Shard: &event.Shard{Index: 1, Total: 3}}
		change(r)
		return saved{name, store(t, 1, event.Event{Type: event.RunStarted, Run: r}, reporttest.RunEnded(event.Passed, 0))}
	}
	good := run("good", func(*event.Run) {})
	listed := func(name, hash string, repos ...string) saved {
		s := event.Source{Kind: "github", Host: "github.com", Owner: "acme"}
		for _, repo := range repos {
			s.Repos = append(s.Repos, event.SourceRepo{Name: repo})
		}
		return run(name, func(r *event.Run) { r.PlanHash, r.Sources = hash, []event.Source{s} })
	}
	for name, c := range map[string]struct {
		runs []saved
		want string
	}{
		"nothing":              {nil, "merge nothing: no runs given"},
		"another plan":         {[]saved{good, run("other", func(r *event.Run) { r.PlanHash = "i" })}, "merge good and other: runs of different plans (h and i)"},
		"other lists":          {[]saved{listed("one", "h", "acme/api", "acme/web"), listed("two", "i", "acme/cli", "acme/web")}, "merge one and two: runs of different plans, because github.com/acme listed other repositories for each of them (acme/api, acme/cli); give all shards the same list, with --sources"},
		"another total":        {[]saved{run("other", func(r *event.Run) { r.Shard.Total = 4 }), good}, "merge good and other: different numbers of shards (3 and 4)"},
		"no events":            {[]saved{good, {"other", nil}}, "merge other: no events"},
		"a torn first event":   {[]saved{{"other", good.stream[:20]}}, "merge other: no events"},
		"damage":               {[]saved{{"other", append([]byte("{\n"), good.stream...)}}, "merge other: invalid events: read event stream, line 1: unexpected end of JSON input"},
		"fields of other type": {[]saved{{"other", []byte(`{"seq":1,"type":"run.started","run":7}` + "\n")}}, "merge other: invalid events: read event stream, line 1: json: cannot unmarshal"},
		"no start":             {[]saved{{"other", store(t, 1, reporttest.Started("a"))}}, "merge other: the first event is not run.started"},
		"no id":                {[]saved{run("other", func(r *event.Run) { r.ID = "" })}, "merge other: run.started has no run id"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			_, err := report.Merge(&b, inputsOf(c.runs...), event.FailOnAny)
			var refused *report.RefusedError
			if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), c.want) || b.Len() > 0 {
				t.Errorf("%d bytes, %v", b.Len(), err)
			}
		})
	}
}

func TestMergeReadAndWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	x := done(t, "x", 1, event.Passed, 0, 0.5)
	var refused *report.RefusedError
	if _, err := report.Merge(failing{full}, inputsOf(x), event.FailOnAny); !errors.Is(err, full) || errors.As(err, &refused) {
		t.Errorf("a disk that is full: %v", err)
	}
	closed := report.Input{Name: "x", Open: func() (io.ReadCloser, error) { return nil, full }}
	if _, err := report.Merge(io.Discard, []report.Input{closed}, event.FailOnAny); !errors.Is(err, full) || !errors.As(err, &refused) {
		t.Errorf("a file that can't be opened: %v", err)
	}
	for name, c := range map[string]struct {
		second []byte
		err    string
	}{
		"the same":                       {x.stream, ""},
		"more, as of a run that goes on": {append(slices.Clone(x.stream), x.stream...), ""},
		"less":                           {x.stream[:len(x.stream)/2], "copy the events of x: there were 6"},
		"nothing":                        {nil, "copy the events of x: there were 6, now there are 0"},
	} {
		opened := 0
		changing := report.Input{Name: "x", Open: func() (io.ReadCloser, error) {
			if opened++; opened == 1 {
				return io.NopCloser(bytes.NewReader(x.stream)), nil
			}
			return io.NopCloser(bytes.NewReader(c.second)), nil
		}}
		_, err := report.Merge(io.Discard, []report.Input{changing}, event.FailOnAny)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJobsWithoutIndexKeepTheOrderOfShards(t *testing.T) {
	run := func(id string, index int, jobs ...string) saved {
		r := &event.Run{ID: id, Shard: &event.Shard{Index: index, Total: 3}}
		for _, j := range jobs {
			r.Jobs = append(r.Jobs, event.PlannedJob{ID: j, Shard: index})
		}
		r.Elsewhere = []event.PlannedJob{{ID: "e", Shard: 3}, {ID: "d", Shard: 3}}
		return saved{id, store(t, 9-index, event.Event{Type: event.RunStarted, Run: r}, reporttest.Started("stray"), reporttest.RunEnded(event.Passed, 0))}
	}
	merged, _ := merge(t, run("x", 2, "a", "b"), run("y", 1, "z", "c"))
	var ids []string
	for _, j := range merged.Report.Jobs {
		ids = append(ids, j.ID)
	}
	if diff := cmp.Diff([]string{"z", "c", "a", "b", "d", "e", "stray"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
