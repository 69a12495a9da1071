package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/forecast"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner/admission"
	"github.com/millhand/millhand/tasks"
)

// field is a rollout that runs with ends of jobs from a function.
type field struct {
	t       *testing.T
	plan    tasks.Plan
	now     time.Time
	history *History

	estimate admission.Forecast
}

func newField(t *testing.T, spec tasks.Rollout, all []tasks.Job) *field {
	t.Helper()
	return &field{t: t, plan: tasks.Plan{Name: "fleet", Jobs: all, Parallel: 1, Rollout: &spec}, now: time.Unix(2e9, 0), history: &History{}, estimate: forecast.Estimate}
}

func (f *field) open() *Rollout {
	return New(&f.plan, f.history, func() time.Time { return f.now }, f.estimate)
}

// run runs the next wave as a runner does, one job after the other, and returns a line: the
// ended jobs, the outcome, the exit code and what decided.
func (f *field) run(end func(j tasks.Job) event.JobEnd) string {
	f.t.Helper()
	r := f.open()
	r.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{Jobs: planned(f.plan.Jobs)}})
	var ends []event.JobEnd
	ran := 0
	for _, j := range f.plan.Jobs {
		if !r.Selects(j.ID) {
			continue
		}
		if r.Waits(j) {
			f.t.Errorf("%s waits although no job is running", j.ID)
		}
		e := event.CodeRollout.End("")
		if held := r.Admit(j); held == "" {
			ran++
			e = end(j)
			if j.Pull != nil && e.Outcome == event.Passed {
				r.Emit(event.Event{Type: event.CommitPublished, Job: j.ID, Time: f.now, Published: &event.Published{PullRequest: &event.PullRequest{State: "open", Created: true}}})
			}
		}
		r.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &e})
		ends = append(ends, e)
	}
	outcome, exit, at := r.End(event.Worst(event.ExitsOf(ends)).OutcomeOf(), event.Worst(event.ExitsOf(ends)))
	var why []string
	for _, c := range at.Exceeded {
		why = append(why, strings.TrimPrefix(c.Key, "rollout.")+" "+c.Value)
	}
	for _, c := range at.Conditions {
		if !c.Met {
			why = append(why, strings.TrimPrefix(c.Key, "rollout.")+" "+c.Value)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%d of wave %d/%d: %s %d %s", ran, at.Wave, at.Waves, outcome, exit, strings.Join(why, ", ")))
}

func planned(all []tasks.Job) (list []event.PlannedJob) {
	for _, j := range all {
		list = append(list, event.PlannedJob{ID: j.ID, Hash: j.Hash})
	}
	return list
}

func (f *field) expect(end func(j tasks.Job) event.JobEnd, want ...string) {
	f.t.Helper()
	for i, line := range want {
		if got := f.run(end); got != line {
			f.t.Errorf("run %d: %s, want %s", i+1, got, line)
		}
	}
}

func pass(tasks.Job) event.JobEnd { return costs(event.Passed, event.ExitOK, money.Dollar/10) }

func fail(tasks.Job) event.JobEnd { return costs(event.Failed, event.ExitFailed, money.Dollar/2) }

func costs(o event.Outcome, x event.Exit, usd money.USD) event.JobEnd {
	return event.JobEnd{Outcome: o, ExitCode: x, CostUSD: &usd, ElapsedMS: 1000}
}

func ends(code event.Code) func(tasks.Job) event.JobEnd {
	return func(tasks.Job) event.JobEnd { return code.End("") }
}

// some ends every nth job that is run differently.
func some(n int, this, others func(tasks.Job) event.JobEnd) func(tasks.Job) event.JobEnd {
	count := 0
	return func(j tasks.Job) event.JobEnd {
		if count++; count%n == 0 {
			return this(j)
		}
		return others(j)
	}
}

func waves(canary ...string) tasks.Rollout {
	return tasks.Rollout{Canary: canary, Waves: []tasks.WaveSize{{Jobs: 10}, {Share: 5000}}}
}

func TestWavesFollowEachOther(t *testing.T) {
	spec := waves("repo-003")
	spec.Advance.Passed = 8000
	newField(t, spec, jobs(40)).expect(pass,
		"1 of wave 1/4: waiting 0", "9 of wave 2/4: waiting 0", "10 of wave 3/4: waiting 0", "20 of wave 4/4: passed 0", "0 of wave 0/4: passed 0")
	newField(t, tasks.Rollout{}, jobs(3)).expect(pass, "3 of wave 1/1: passed 0", "0 of wave 0/1: passed 0")
	newField(t, spec, nil).expect(pass, "0 of wave 0/0: passed 0")
}

// A wave with failures waits or goes on by the condition, and its failed jobs are not
// started again.
func TestFailuresOfAWave(t *testing.T) {
	spec := waves()
	spec.Advance.Passed = 8000
	newField(t, spec, jobs(20)).expect(some(5, fail, pass), "10 of wave 1/2: waiting 1", "10 of wave 2/2: failed 1", "0 of wave 0/2: passed 0")
	f := newField(t, spec, jobs(20))
	f.expect(some(3, fail, pass), "10 of wave 1/2: waiting 1 advance.passed 70% (7 of 10)", "0 of wave 1/2: waiting 0 advance.passed 70% (7 of 10)")
	for i := range f.plan.Jobs { // the prompt is changed: jobs that passed are left alone
		f.plan.Jobs[i].Hash = "2"
	}
	f.expect(pass, "3 of wave 1/2: waiting 0", "10 of wave 2/2: passed 0")
}

// Ends for reasons outside of the work are repeated; the next wave does not start.
func TestUnfinishedJobsAreRepeated(t *testing.T) {
	f := newField(t, waves(), jobs(20))
	f.expect(some(2, ends(event.CodeRate), pass), "10 of wave 1/2: waiting 75", "5 of wave 1/2: waiting 75")
	f.expect(pass, "2 of wave 1/2: waiting 0", "10 of wave 2/2: passed 0")
}

func TestAWaveStopsAtItsStopLoss(t *testing.T) {
	spec := waves()
	spec.Stop = tasks.StopLoss{Failed: 3000}
	f := newField(t, spec, jobs(40))
	f.expect(fail, "3 of wave 1/3: stopped 3 stop.failed 100% (3 of 3)", "0 of wave 1/3: stopped 3 stop.failed 100% (3 of 3)")
	for i := range f.plan.Jobs {
		f.plan.Jobs[i].Hash = "2"
	}
	f.expect(pass, "10 of wave 1/3: waiting 0")
	newField(t, spec, jobs(40)).expect(some(3, fail, pass), "9 of wave 1/3: stopped 3 stop.failed 33.33% (3 of 9)")
	newField(t, spec, jobs(40)).expect(some(4, fail, pass), "10 of wave 1/3: waiting 1")
	newField(t, spec, jobs(2)).expect(fail, "1 of wave 1/1: stopped 3 stop.failed 100% (1 of 1)")
	newField(t, spec, jobs(1)).expect(fail, "1 of wave 1/1: failed 1 stop.failed 100% (1 of 1)")

	spec.Stop = tasks.StopLoss{Denied: 2}
	newField(t, spec, jobs(40)).expect(some(3, ends(event.CodeDenied), pass), "6 of wave 1/3: stopped 3 stop.denied 2")
	spec.Stop = tasks.StopLoss{CostPerJob: money.Dollar / 4}
	newField(t, spec, jobs(40)).expect(fail, "3 of wave 1/3: stopped 3 stop.cost_per_job $0.5000")
}

// Jobs whose base is red do not count, and are tried again with the next wave.
func TestJobsWithARedBaseAreTriedAgain(t *testing.T) {
	spec := waves()
	spec.Advance.Passed, spec.Stop.Failed = 10000, 1000
	newField(t, spec, jobs(20)).expect(some(2, ends(event.CodeBaseline), pass),
		"10 of wave 1/2: waiting 1", "15 of wave 2/2: failed 1", "0 of wave 0/2: passed 0")
	newField(t, spec, jobs(20)).expect(ends(event.CodeEnvironment),
		"10 of wave 1/2: waiting 1 advance.passed no finished job", "10 of wave 1/2: waiting 1 advance.passed no finished job")
}

func TestNeedsOfARedBaseAreTriedAgain(t *testing.T) {
	all := jobs(3)
	all[1].Needs, all[2].Needs = []string{all[0].ID}, []string{all[1].ID}
	f := newField(t, tasks.Rollout{}, all)
	f.expect(func(j tasks.Job) event.JobEnd {
		if j.ID == all[0].ID {
			return fail(j)
		}
		return event.CodeNeed.End("")
	}, "3 of wave 1/1: failed 1", "0 of wave 0/1: passed 0")

	// A red base does not hold the rollout back, and is tried again with the jobs that need it.
	all = append(all, jobs(12)[3:]...)
	spec := tasks.Rollout{Canary: []string{"repo-001", "repo-011"}}
	newField(t, spec, all).expect(func(j tasks.Job) event.JobEnd {
		switch j.ID {
		case all[0].ID:
			return event.CodeBaseline.End("")
		case all[1].ID, all[2].ID:
			return event.CodeNeed.End("")
		}
		return pass(j)
	}, "4 of wave 1/2: waiting 1", "11 of wave 2/2: failed 1", "0 of wave 0/2: passed 0")
}

func pulling(j *tasks.Job) { j.Pull = &tasks.PullRequest{} }

func TestLimitsOfPullRequests(t *testing.T) {
	spec := tasks.Rollout{MaxOpen: 3}
	f := newField(t, spec, jobs(5, pulling))
	f.expect(pass, "3 of wave 1/1: waiting 0 max_open 3", "0 of wave 1/1: waiting 0 max_open 3")
	f.history.Pulls(map[string]Pull{"job-000": {State: "merged", SameTask: true}, "job-001": {State: "open", SameTask: true}, "job-002": {State: "closed", SameTask: true}})
	f.expect(pass, "2 of wave 1/1: passed 0")

	f = newField(t, tasks.Rollout{PerHour: 2}, jobs(5, pulling))
	f.expect(pass, "2 of wave 1/1: waiting 0 per_hour 2", "0 of wave 1/1: waiting 0 per_hour 2")
	f.now = f.now.Add(time.Hour)
	f.expect(pass, "2 of wave 1/1: waiting 0 per_hour 2")

	f = newField(t, tasks.Rollout{CIMinutes: 10, Waves: []tasks.WaveSize{{Jobs: 2}}}, jobs(5, pulling))
	f.expect(pass, "2 of wave 1/2: waiting 0")
	f.history.Pulls(map[string]Pull{"job-000": {State: "merged", CI: 4 * time.Minute}, "job-001": {State: "open", CI: 6 * time.Minute}})
	f.expect(pass, "0 of wave 2/2: stopped 3 ci_minutes 10")
}

// A slot of a job that ends without a pull request is free again; until then other jobs wait.
func TestReservedPullRequests(t *testing.T) {
	f := newField(t, tasks.Rollout{MaxOpen: 1}, jobs(2, pulling))
	r := f.open()
	a, b := f.plan.Jobs[0], f.plan.Jobs[1]
	if held := r.Admit(a); held != "" || !r.Waits(b) {
		t.Fatalf("held %q, waits %v", held, r.Waits(b))
	}
	end := pass(a)
	r.Emit(event.Event{Type: event.JobEnded, Job: a.ID, JobEnd: &end})
	if held := r.Admit(b); held != "" {
		t.Errorf("held %q", held)
	}
}

func TestConditionsOfPullRequests(t *testing.T) {
	spec := tasks.Rollout{Waves: []tasks.WaveSize{{Jobs: 4}}, Advance: tasks.Advance{Checks: 7500, Merged: 2}}
	f := newField(t, spec, jobs(8, pulling))
	f.expect(pass, "4 of wave 1/2: waiting 0 advance.checks 0% (0 of 4), without asking the forge, advance.merged 0 of 4, without asking the forge")
	var ids []string
	for _, j := range Divide(&spec, f.plan.Jobs)[0].Jobs {
		ids = append(ids, j.ID)
	}
	f.history.Pulls(map[string]Pull{ids[0]: {State: "merged"}, ids[1]: {State: "open", Checks: "passed"}, ids[2]: {State: "open", Checks: "failed"}, ids[3]: {State: "open"}})
	f.expect(pass, "0 of wave 1/2: waiting 0 advance.checks 50% (2 of 4), advance.merged 1 of 4")
	f.history.Pulls(map[string]Pull{ids[0]: {State: "merged"}, ids[1]: {State: "open", Checks: "passed"}, ids[2]: {State: "merged", Checks: "failed"}, ids[3]: {State: "closed", SameTask: true}})
	f.expect(pass, "4 of wave 2/2: passed 0")
}

// Without saved runs, pull requests on the forge show which jobs have passed.
func TestPullRequestsShowWhichJobsHavePassed(t *testing.T) {
	spec := tasks.Rollout{Waves: []tasks.WaveSize{{Jobs: 4}}}
	f := newField(t, spec, jobs(6, pulling))
	first := Divide(&spec, f.plan.Jobs)[0].Jobs
	f.history.Pulls(map[string]Pull{first[0].ID: {State: "merged", SameTask: true}, first[1].ID: {State: "open"}, first[2].ID: {State: "open", Foreign: true}, first[3].ID: {State: "closed"}})
	f.expect(pass, "1 of wave 1/2: waiting 0", "2 of wave 2/2: passed 0")
}

func TestForecastOfWaves(t *testing.T) {
	spec := waves("repo-003")
	spec.Advance.Forecast = 10 * money.Dollar
	f := newField(t, spec, jobs(40))
	f.expect(pass, "1 of wave 1/4: waiting 0", "9 of wave 2/4: waiting 0", "10 of wave 3/4: waiting 0")
	got := f.open().Forecast()
	if got.Sample != 19 || got.Rest != 20 || *got.CostUSD != 2*money.Dollar || *got.ElapsedMS != 20_000 || *got.BoundUSD < 4*money.Dollar || *got.BoundUSD > 10*money.Dollar {
		t.Errorf("forecast %+v: $%v, at most $%v", got, *got.CostUSD, got.BoundUSD)
	}
	f.plan.Rollout.Advance.Forecast = 4 * money.Dollar
	if got := f.run(pass); !strings.HasPrefix(got, "0 of wave 3/4: waiting 0 advance.forecast $") {
		t.Error(got)
	}
}

// What can't be estimated is no reason to go on.
func TestRolloutThatAdvancesByAForecastWaitsWithoutOne(t *testing.T) {
	spec := waves()
	spec.Advance.Forecast = 10 * money.Dollar
	f := newField(t, spec, jobs(40))
	f.estimate = nil
	f.expect(pass, "10 of wave 1/3: waiting 0 advance.forecast unknown: this program was built without forecasts", "0 of wave 1/3: waiting 0 advance.forecast unknown: this program was built without forecasts")
	if got := f.open().Forecast(); got != nil {
		t.Errorf("%+v", got)
	}
}

// A resumed run executes only its own jobs, after its earlier events.
func TestAResumedRunExecutesOnlyItsOwnJobs(t *testing.T) {
	f := newField(t, waves(), jobs(20))
	r := f.open()
	var ids []event.PlannedJob
	for _, j := range f.plan.Jobs {
		if r.Selects(j.ID) {
			ids = append(ids, event.PlannedJob{ID: j.ID, Hash: j.Hash})
		}
	}
	again := New(&f.plan, &History{}, time.Now, forecast.Estimate)
	again.Resume(ids)
	again.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{Jobs: ids}})
	for _, j := range ids {
		end := pass(tasks.Job{})
		again.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &end})
	}
	if outcome, exit, at := again.End(event.Passed, event.ExitOK); outcome != event.Waiting || exit != event.ExitOK || at.Passed != 10 {
		t.Errorf("%s %d %+v", outcome, exit, at)
	}
	if outcome, exit, _ := again.End(event.Cancelled, event.ExitInterrupt); outcome != event.Cancelled || exit != event.ExitInterrupt {
		t.Errorf("an interrupted run is %s (%d)", outcome, exit)
	}
}

// BenchmarkAdmit starts and ends a job of a wave of 5,000.
func BenchmarkAdmit(b *testing.B) {
	all := jobs(5000, pulling)
	r := New(&tasks.Plan{Name: "fleet", Jobs: all, Parallel: 8, Rollout: &tasks.Rollout{MaxOpen: 8, Stop: tasks.StopLoss{Failed: 3000}}}, &History{}, time.Now, forecast.Estimate)
	i := 0
	for b.Loop() {
		j := all[i%len(all)]
		if held := r.Admit(j); held != "" {
			b.Fatal(held)
		}
		end := pass(j)
		if err := r.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &end}); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// TestFollowUpOfHeldBack checks that a run whose last wave was held back still waits after a job of
// it was continued.
func TestFollowUpOfHeldBack(t *testing.T) {
	f := newField(t, tasks.Rollout{MaxOpen: 1}, jobs(2, pulling))
	f.expect(pass, "1 of wave 1/1: waiting 0 max_open 1")
	r, a := f.open(), f.plan.Jobs[0]
	r.Resume(planned(f.plan.Jobs))
	r.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{Jobs: planned(f.plan.Jobs)}})
	for i, j := range f.plan.Jobs {
		e := event.JobEnd{Outcome: event.Passed}
		if i > 0 {
			e = event.CodeRollout.End("held back")
		}
		r.Emit(event.Event{Type: event.JobEnded, Job: j.ID, JobEnd: &e})
	}
	r.Emit(event.Event{Type: event.JobStarted, Job: a.ID, JobStart: &event.JobStart{}})
	r.Emit(event.Event{Type: event.JobEnded, Job: a.ID, JobEnd: &event.JobEnd{Outcome: event.Passed}})
	if outcome, _, _ := r.End(event.Passed, event.ExitOK); outcome != event.Waiting {
		t.Errorf("the outcome is %s", outcome)
	}
}
