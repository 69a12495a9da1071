package waves

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc/clock"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/runner/admission"
	"github.com/millhand/millhand/tasks"
)

// start is when the first run of a fleet started.
var start = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// fleet is a directory with the saved runs of a rollout, whose waves are job a, job b and job e.
type fleet struct {
	t     *testing.T
	dir   string
	world world.World
	plan  *tasks.Plan
	in    world.Earlier
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir()}
	f.world = world.World{
		Dir: f.dir, Err: t.Output(), Now: func() time.Time { return start.AddDate(0, 0, 1) }, Sleep: clock.Wait, Getenv: func(string) string { return "" },
		Forecast: func(s admission.Sample) (*event.Forecast, string) { return &event.Forecast{Rest: s.Rest}, "" },
	}
	f.plan = &tasks.Plan{Name: "fleet", Hash: "h", Rollout: &tasks.Rollout{Canary: []string{"a"}, Waves: []tasks.WaveSize{{Jobs: 2}}}}
	for _, id := range []string{"a", "b", "e"} {
		f.plan.Jobs = append(f.plan.Jobs, tasks.Job{ID: id, Hash: id, Repo: tasks.Repo{Name: id, Kind: tasks.RepoCopy}})
	}
	f.in.Dir = f.dir
	return f
}

// save saves a run that started some hours after the first one, in a directory below that of the fleet, with the ends of jobs. Without an
// outcome, it was killed.
func (f *fleet) save(dir string, hours int, rollout string, outcome event.Outcome, ended map[string]event.Outcome) string {
	f.t.Helper()
	run := &event.Run{ID: filepath.Base(dir), PlanHash: "h"}
	if rollout != "" {
		run.Rollout = &event.Rollout{Name: rollout}
	}
	for _, j := range f.plan.Jobs {
		run.Jobs = append(run.Jobs, event.PlannedJob{ID: j.ID, Hash: j.Hash})
	}
	events := []event.Event{{Type: event.RunStarted, Run: run}}
	for id, end := range ended {
		events = append(events, reporttest.Started(id), reporttest.JobEnded(id, event.JobEnd{Outcome: end, CostUSD: reporttest.Costs(1)}))
	}
	if outcome != "" {
		events = append(events, reporttest.RunEnded(outcome, event.ExitOK))
	}
	at := start.Add(time.Duration(hours) * time.Hour)
	var text bytes.Buffer
	s := event.NewStream(func() time.Time { return at }, event.SinkFunc(func(e event.Event) error {
		line, err := event.Line(e)
		text.Write(append(line, '\n'))
		return err
	}))
	for _, e := range events {
		s.Emit(e)
	}
	path := filepath.Join(f.dir, dir)
	if err := errors.Join(s.Err(), os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, "events.jsonl"), text.Bytes(), 0o600)); err != nil {
		f.t.Fatal(err)
	}
	return path
}

const usual = ".millhand/runs/"

// next returns the ids of the jobs of the next run, or the name of the run that it continues.
func (f *fleet) next() string {
	f.t.Helper()
	next, err := Rollouts{}.Next(f.t.Context(), f.world, f.plan, f.in)
	if err != nil {
		return "error: " + err.Error()
	}
	if next.Unfinished != "" {
		return "continue " + filepath.Base(next.Unfinished)
	}
	return ids(next.Plan)
}

func ids(plan *tasks.Plan) string {
	var all []string
	for _, j := range plan.Jobs {
		all = append(all, j.ID)
	}
	return strings.Join(all, " ")
}

var (
	passedA = map[string]event.Outcome{"a": event.Passed}
	passedB = map[string]event.Outcome{"b": event.Passed}
)

func TestTheNextWaveFollowsFromTheSavedRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		save func(f *fleet)
		want string
	}{
		"no run":             {func(*fleet) {}, "a"},
		"one":                {func(f *fleet) { f.save(usual+"r1", 0, "fleet", event.Passed, passedA) }, "b"},
		"of another rollout": {func(f *fleet) { f.save(usual+"r1", 0, "other", event.Passed, passedA) }, "a"},
		"of no rollout":      {func(f *fleet) { f.save(usual+"r1", 0, "", event.Passed, passedA) }, "a"},
		"elsewhere":          {func(f *fleet) { f.save("reports/r1", 0, "fleet", event.Passed, passedA) }, "a"},
		"in a report directory": {func(f *fleet) {
			f.in.Reports = "reports"
			f.save("reports/earlier/r1", 0, "fleet", event.Passed, passedA)
		}, "b"},
		"named": {func(f *fleet) {
			f.save(usual+"r1", 0, "fleet", event.Passed, passedA)
			f.in.After = []string{"elsewhere/r2"}
			f.save("elsewhere/r2", 1, "fleet", event.Passed, passedB)
		}, "e"},
		"named, of no rollout": {func(f *fleet) {
			f.in.After = []string{"elsewhere/r1"}
			f.save("elsewhere/r1", 0, "", event.Passed, passedA)
		}, "b"},
		"in a directory that is named": {func(f *fleet) {
			f.in.After = []string{"artifacts"}
			f.save("artifacts/r1", 0, "fleet", event.Passed, passedA)
			f.save("artifacts/r2", 1, "other", event.Passed, passedB)
		}, "b"},
		"the later end counts": {func(f *fleet) {
			f.save(usual+"r1", 5, "fleet", event.Passed, passedA)
			f.in.After = []string{"r0"}
			f.save("r0", 1, "fleet", event.Failed, map[string]event.Outcome{"a": event.Failed, "b": event.Passed, "e": event.Failed})
		}, ""},
		"in its first moment": {func(f *fleet) {
			f.save(usual+"r1", 0, "fleet", event.Passed, passedA)
			if err := os.Truncate(filepath.Join(f.dir, usual, "r1", "events.jsonl"), 10); err != nil {
				f.t.Fatal(err)
			}
		}, "a"},
	} {
		f := newFleet(t)
		c.save(f)
		if got := f.next(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// One that was killed or interrupted is continued where it is, but a copy is not.
func TestTheLatestRunIsContinuedIfItDidNotEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		save func(f *fleet)
		want string
	}{
		"killed":      {func(f *fleet) { f.save(usual+"r1", 0, "fleet", "", passedA) }, "continue r1"},
		"interrupted": {func(f *fleet) { f.save(usual+"r1", 0, "fleet", event.Cancelled, nil) }, "continue r1"},
		"named too": {func(f *fleet) {
			f.save(usual+"r1", 0, "fleet", "", nil)
			f.in.After = []string{"r1"}
		}, "continue r1"},
		"and a copy of it": {func(f *fleet) {
			f.save(usual+"r1", 0, "fleet", "", nil)
			f.save("copy/r1", 0, "fleet", "", nil)
			f.in.After = []string{"copy"}
		}, "continue r1"},
		"before another one": {func(f *fleet) {
			f.save(usual+"r2", 5, "fleet", event.Passed, passedA)
			f.save(usual+"r1", 0, "fleet", "", nil)
		}, "b"},
		"of another plan": {func(f *fleet) {
			f.save(usual+"r1", 0, "fleet", "", passedA)
			f.plan.Hash = "new"
		}, "b"},
		"a copy": {func(f *fleet) {
			f.in.After = []string{"copy"}
			f.save("copy", 0, "fleet", "", passedA)
		}, "b"},
	} {
		f := newFleet(t)
		c.save(f)
		if got := f.next(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestARolloutWaitsForItsRunThatIsInProgress(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	dir := f.save(usual+"r1", 0, "fleet", "", nil)
	f.save(usual+"r2", 1, "fleet", event.Passed, passedA)
	lock, err := rundir.TakeLock(t.Context(), dir, "r1", f.world.Clock())
	if err != nil {
		t.Fatal(err)
	}
	if got := f.next(); got != "error: run r1 of the rollout fleet is in progress: try again when it has ended; nothing was run" {
		t.Error(got)
	}
	lock.Close()
	if got := f.next(); got != "b" {
		t.Errorf("after it: %s", got)
	}
}

// What a run did that can't be read would be done and paid again.
func TestRunsThatCannotBeReadAreNotLeftOut(t *testing.T) {
	t.Parallel()
	damage := func(f *fleet, dir, old, text string) {
		f.t.Helper()
		path := filepath.Join(dir, "events.jsonl")
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.Replace(data, []byte(old), []byte(text), 1), 0o600)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		save func(f *fleet)
		want []string // in the error; nil for none
	}{
		"the middle": {func(f *fleet) {
			damage(f, f.save(usual+"r1", 0, "fleet", event.Passed, passedA), `"job.ended"`, `job.ended`)
		}, []string{"read the earlier wave ", usual + "r1: "}},
		"the end": {func(f *fleet) {
			damage(f, f.save(usual+"r1", 0, "fleet", event.Passed, passedA), `"run.ended"`, `run.ended`)
		}, []string{"read the earlier waves in .millhand/runs: run r1 is damaged: read the last event: ", "; nothing was run"}},
		"another rollout": {func(f *fleet) {
			damage(f, f.save(usual+"r1", 0, "other", event.Passed, passedA), `"run.ended"`, `run.ended`)
		}, nil},
		"all of one that may be another's": {func(f *fleet) {
			damage(f, f.save(usual+"r1", 0, "fleet", event.Passed, passedA), `"run.started"`, `run.started`)
		}, nil},
		"all of one that is named": {func(f *fleet) {
			damage(f, f.save("r1", 0, "fleet", event.Passed, passedA), `"run.started"`, `run.started`)
			f.in.After = []string{"r1"}
		}, []string{"--after r1: run r1 is damaged: read the first event: "}},
		"one that is named and has no events": {func(f *fleet) {
			path := f.save("r1", 0, "fleet", event.Passed, passedA)
			f.in.After = []string{"r1"}
			if err := os.Truncate(filepath.Join(path, "events.jsonl"), 0); err != nil {
				f.t.Fatal(err)
			}
		}, []string{"--after r1: run r1 has no events"}},
		"one that is named and missing": {func(f *fleet) { f.in.After = []string{"r1"} }, []string{"--after r1: ", "r1: no such file or directory"}},
		"a report directory that is a file": {func(f *fleet) {
			f.in.Reports = "f"
			if err := os.WriteFile(filepath.Join(f.dir, "f"), nil, 0o600); err != nil {
				f.t.Fatal(err)
			}
		}, []string{"read the earlier waves in f: "}},
	} {
		f := newFleet(t)
		c.save(f)
		next, err := Rollouts{}.Next(t.Context(), f.world, f.plan, f.in)
		if c.want == nil {
			if err != nil || ids(next.Plan) != "a" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if fault.ExitOf(err) != event.ExitUsage || err == nil || slices.ContainsFunc(c.want, func(text string) bool { return !strings.Contains(err.Error(), text) }) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		_, look := Rollouts{}.Outlook(t.Context(), f.world, f.plan, f.in, false)
		_, same := Rollouts{}.Resume(t.Context(), f.world, f.plan, f.in, &event.Run{ID: "r9", Rollout: &event.Rollout{Name: "fleet"}}, false)
		if fault.ExitOf(look) != event.ExitUsage || fault.ExitOf(same) != event.ExitUsage {
			t.Errorf("%s: outlook %v, resumed %v", name, look, same)
		}
	}
}

// The reports of a run that changes a tree in place are elsewhere until it ends.
func TestANamedRunWhoseEventsAreElsewhereIsNotLeftOut(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f := newFleet(t)
	out, err := rundir.Claim(t.Context(), f.dir, "r1", "r1", f.world.Clock())
	if err == nil {
		err = out.Begin("r1", sandbox.Partial, []string{f.dir}, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	f.in.After = []string{"r1"}
	if got := f.next(); !strings.HasPrefix(got, "error: --after r1: run r1 has no events there: ") {
		t.Error(got)
	}
}

func TestARunThatIsResumedHasItsOwnJobs(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.save(usual+"r1", 0, "fleet", event.Passed, passedA)
	f.save(usual+"r2", 1, "fleet", "", passedB) // what it did follows from its own events
	run := &event.Run{ID: "r2", Rollout: &event.Rollout{Name: "fleet"}, Jobs: []event.PlannedJob{{ID: "b"}}}
	same, err := Rollouts{}.Resume(t.Context(), f.world, f.plan, f.in, run, false)
	if err != nil || ids(same.Plan) != "b" || same.Rollout == nil || same.Rollout.Start().Wave != 2 {
		t.Fatalf("%+v, %v", same, err)
	}
	f.plan.Rollout = nil
	if same, err := (Rollouts{}).Resume(t.Context(), f.world, f.plan, f.in, run, false); err != nil || ids(same.Plan) != "b" || same.Rollout != nil {
		t.Errorf("without the key rollout: %+v, %v", same, err)
	}
}

func TestAnOutlookHasAllWavesAndTheJobsOfTheNext(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.save(usual+"r1", 0, "fleet", event.Passed, passedA)
	all, err := Rollouts{}.Outlook(t.Context(), f.world, f.plan, f.in, false)
	if err != nil || ids(all.Next) != "b" || all.Rollout == nil || all.Rollout.Wave != 2 || all.Forecast == nil || all.Forecast.Rest != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	var states []string
	for _, w := range all.Waves {
		states = append(states, w.State)
	}
	if !slices.Equal(states, []string{"complete", "next", "planned"}) {
		t.Errorf("waves %q", states)
	}
	// Without a rollout all jobs are next, and only runs that are named count.
	f.plan.Rollout = nil
	f.save(usual+"r2", 1, "", event.Passed, passedB)
	for after, rest := range map[string]int{"": 3, "r1": 2, "r2": 2} {
		f.in.After = nil
		if after != "" {
			f.in.After = []string{after}
		}
		all, err := Rollouts{}.Outlook(t.Context(), f.world, f.plan, f.in, true)
		if err != nil || ids(all.Next) != "a b e" || all.Rollout != nil || all.Waves != nil || all.Forecast.Rest != rest {
			t.Errorf("after %q: %+v, forecast %+v, %v", after, all, all.Forecast, err)
		}
	}
}
