package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// continues runs the plan of the stage's run again, as a process that continues it.
func (s *stage) continues(plan *tasks.Plan, past *history.Past, o history.Order) event.Exit {
	s.t.Helper()
	var err error
	if s.opts.History, err = history.Decide(past, o); err != nil {
		s.t.Fatal(err)
	}
	s.events = nil
	return s.run(s.t.Context(), plan)
}

// A run that is continued keeps the ends of jobs that have ended, also as failures, leaves out those whose tasks have changed, and
// runs the others. Its time includes that of earlier processes, whose temporary files are removed.
func TestARunThatIsContinued(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	bad := s.job("bad")
	bad.Verify = []tasks.Verify{{Name: "v", Run: "false", Time: time.Minute}}
	plan := &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("good"), bad, s.job("changed", "good"), s.job("last", "good")}}
	s.opts.Stops.MaxFailures = 1
	exit := s.run(t.Context(), plan)
	if diff := cmp.Diff(map[string]string{"good": "passed 0", "bad": "failed 1", "changed": "skipped 0", "last": "skipped 0"}, s.ends()); exit != event.ExitFailed || diff != "" {
		t.Fatalf("exit %d: %s", exit, diff)
	}
	for i := range s.events {
		s.events[i].Time = time.Date(2029, 1, 1, i/60, i%60, 0, 0, time.UTC)
	}
	least, first := (time.Duration(len(s.events)-1) * time.Minute).Milliseconds(), s.events
	stale := filepath.Join(s.opts.Dir.Path(), "snapshots", "objects", "tmp_obj_millhand_1")
	mkdirFor(t, stale)
	writeFile(t, stale, "of a process that was killed")
	if exit := s.continues(plan, s.past(), history.Order{Do: history.Resume{}}); exit != event.ExitFailed {
		t.Errorf("exit %d", exit)
	}
	if diff := cmp.Diff(map[string]string{"changed": "skipped 0", "last": "skipped 0"}, s.ends()); diff != "" || !strings.HasPrefix(s.reason("last"), "maximum number of failed jobs reached (1)") {
		t.Errorf("resumed: %s: %s", s.reason("last"), diff)
	}
	if end := s.of(event.RunEnded)[0].RunEnd; end.ElapsedMS < least || end.Outcome != event.Failed {
		t.Errorf("the run took %d ms, and its first process %d ms: %+v", end.ElapsedMS, least, end)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("a temporary file is left")
	}
	s.events, plan.Jobs[1].Verify[0].Run = first, "true"
	exit = s.continues(plan, s.past(), history.Order{Do: history.Start{}, Except: []string{"changed"}})
	if diff := cmp.Diff(map[string]string{"bad": "passed 0", "changed": "skipped 1", "last": "passed 0"}, s.ends()); exit != event.ExitFailed || diff != "" || s.reason("changed") != "the task has changed since the run was started" {
		t.Errorf("exit %d: %s: %s", exit, s.reason("changed"), diff)
	}
}

// A run whose events can't be recorded finishes its running job, starts no other, and never passes.
func TestARunWithoutARecordFails(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	var broken error
	s.opts.Broken = func() error { return broken }
	s.when(func(e event.Event) bool { return e.Type == event.Committed }, func() { broken = errors.New("no space left") })
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a"), s.job("b")}})
	if diff := cmp.Diff(map[string]string{"a": "passed 0", "b": "error 70"}, s.ends()); exit != event.ExitInternal || diff != "" {
		t.Errorf("exit %d: %s", exit, diff)
	}
	s.opts.FailOn, s.events, broken = event.FailOnNever, nil, nil
	exit = s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("c")}})
	if end := s.of(event.RunEnded)[0].RunEnd; exit != event.ExitInternal || end.ExitCode != exit || !strings.Contains(s.warnings(), "events can't be recorded: no space left") {
		t.Errorf("exit %d, %+v; warnings: %s", exit, end, s.warnings())
	}
}

// What was paid for is published although it can't be recorded: the commit of a job on a url repository is only pushed, and the
// report, for which space is reserved, has it.
func TestARunWithoutARecordPublishesWhatWasPaid(t *testing.T) {
	s := setUp(t)
	url := s.remote()
	s.opts.Equipment.OpenModel = plays(t, writes)
	var broken error
	s.opts.Broken = func() error { return broken }
	s.when(func(e event.Event) bool { return e.Type == event.Committed }, func() { broken = errors.New("no space left") })
	if exit := s.run(t.Context(), &tasks.Plan{Jobs: s.pushing("a")}); exit != event.ExitInternal || s.reason("a") != "" || at(t, url, "millhand/a") != git(t, s.repo, "rev-parse", "millhand/a") {
		t.Errorf("exit %d: %s; the remote is at %q", exit, s.reason("a"), at(t, url, "millhand/a"))
	}
}
