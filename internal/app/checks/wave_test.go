package checks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/reporttest"
	"github.com/millhand/millhand/tasks"
)

// twoWaves divides the jobs into waves by hashes of their ids: b is the first one.
const twoWaves = "rollout: {waves: [1, 100%]}\n"

// checked is what a run of the manifest checks before its wave.
func (s *stage) checked() Checked {
	s.t.Helper()
	c, err := Run(s.t.Context(), s.world, s.options())
	if err != nil {
		s.t.Fatal(err, fault.ProblemsOf(err))
	}
	s.t.Cleanup(c.Settle)
	return c
}

// saved writes the events of a run of the first wave, which is interrupted unless it has an outcome.
func (s *stage) saved(plan *tasks.Plan, outcome event.Outcome) (dir string) {
	s.t.Helper()
	b := plan.Jobs[1]
	first := event.Run{ID: "r1", PlanHash: plan.Hash, Jobs: []event.PlannedJob{{ID: b.ID, Hash: b.Hash}}, Rollout: &event.Rollout{Name: "fleet"}}
	events := []event.Event{{Type: event.RunStarted, Run: &first}}
	if outcome != "" {
		events = append(events, reporttest.JobEnded(b.ID, event.JobEnd{Outcome: outcome}), reporttest.RunEnded(outcome, event.ExitOK))
	}
	return filepath.Dir(s.write(filepath.Join(".millhand", "runs", "r1", "events.jsonl"), string(reporttest.Lines(s.t, events...))))
}

func ids(p *tasks.Plan) string {
	var all []string
	for _, j := range p.Jobs {
		all = append(all, j.Task)
	}
	return strings.Join(all, " ")
}

func TestARunOfARolloutHasTheJobsOfItsWave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome event.Outcome // of an earlier run
		want    string
		wave    int
	}{
		"the first":       {"", "b", 1},
		"after the first": {event.Passed, "a", 2},
		"after a failure": {event.Failed, "a", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, scripted+twoWaves+tasksOf)
			k := s.checked()
			if c.outcome != "" {
				s.saved(k.Plan, c.outcome)
			}
			again, err := NextWave(t.Context(), s.world, s.options(), &k)
			if again != "" || err != nil || ids(k.Plan) != c.want || k.Models.Plan != k.Plan || k.Rollout == nil || k.Rollout.Start().Wave != c.wave {
				t.Errorf("jobs %q, again %q, %v", ids(k.Plan), again, err)
			}
		})
	}
}

func TestAnInterruptedWaveIsContinued(t *testing.T) {
	t.Parallel()
	s := newStage(t, scripted+twoWaves+tasksOf)
	k := s.checked()
	dir := s.saved(k.Plan, "")
	again, err := NextWave(t.Context(), s.world, s.options(), &k)
	if again != dir || err != nil || ids(k.Plan) != "a b" || k.Rollout != nil {
		t.Errorf("again %q, want %q, jobs %q, %v", again, dir, ids(k.Plan), err)
	}
}

func TestWavesAreOnlyOfARollout(t *testing.T) {
	t.Parallel()
	s := newStage(t, scripted+tasksOf)
	k := s.checked()
	if again, err := NextWave(t.Context(), s.world, s.options(), &k); again != "" || err != nil || k.Rollout != nil || ids(k.Plan) != "a b" {
		t.Errorf("no rollout: %q, %v", again, err)
	}
	o := s.options()
	o.After = []string{"r1"}
	if _, err := NextWave(t.Context(), s.world, o, &k); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "--after requires a manifest with the key rollout") {
		t.Errorf("--after without a rollout: %v", err)
	}
	s = newStage(t, scripted+twoWaves+tasksOf)
	k = s.checked()
	if _, err := NextWave(t.Context(), s.world, o, &k); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "--after r1: ") || !strings.HasSuffix(err.Error(), "; nothing was run") {
		t.Errorf("--after a run that is missing: %v", err)
	}
}

func TestAResumedRunHasTheJobsOfItsWave(t *testing.T) {
	t.Parallel()
	s := newStage(t, scripted+twoWaves+tasksOf)
	k := s.checked()
	all := k.Plan
	run := &event.Run{ID: "r2", Jobs: []event.PlannedJob{{ID: all.Jobs[0].ID}}, Rollout: &event.Rollout{Name: "fleet"}}
	if err := SameWave(t.Context(), s.world, s.options(), &k, run, true); err != nil || ids(k.Plan) != "a" || k.Models.Plan != k.Plan || k.Rollout == nil || k.Rollout.Start().Wave != 2 {
		t.Errorf("jobs %q, %v", ids(k.Plan), err)
	}
	k.Plan, k.Rollout = all.OneJob(1, 0), nil
	k.Plan.Rollout = nil
	run.Jobs[0].ID = all.Jobs[1].ID
	if err := SameWave(t.Context(), s.world, s.options(), &k, run, true); err != nil || ids(k.Plan) != "b" || k.Rollout != nil {
		t.Errorf("a rollout that was removed: %q, %v", ids(k.Plan), err)
	}
	k.Plan = all
	if err := SameWave(t.Context(), s.world, s.options(), &k, &event.Run{ID: "r3"}, true); err != nil || ids(k.Plan) != "a b" || k.Rollout != nil {
		t.Errorf("a run without a rollout: %q, %v", ids(k.Plan), err)
	}
	o := s.options()
	o.After = []string{"none"}
	if err := SameWave(t.Context(), s.world, o, &k, run, true); fault.ExitOf(err) != event.ExitUsage || ids(k.Plan) != "a b" {
		t.Errorf("--after a run that is missing: %v, jobs %q", err, ids(k.Plan))
	}
}

func TestAnEarlierWaveThatCannotBeReadRefusesTheRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, scripted+twoWaves+tasksOf)
	k := s.checked()
	events := filepath.Join(s.saved(k.Plan, event.Passed), "events.jsonl")
	text, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	s.write(filepath.Join(".millhand", "runs", "r1", "events.jsonl"), strings.Replace(string(text), "\n", "\nbroken\n", 1))
	if _, err := NextWave(t.Context(), s.world, s.options(), &k); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "read the earlier wave") || ids(k.Plan) != "a b" {
		t.Errorf("a new run: %v, jobs %q", err, ids(k.Plan))
	}
	run := &event.Run{ID: "r2", Jobs: []event.PlannedJob{{ID: k.Plan.Jobs[0].ID}}, Rollout: &event.Rollout{Name: "fleet"}}
	if err := SameWave(t.Context(), s.world, s.options(), &k, run, true); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "read the earlier wave") || ids(k.Plan) != "a b" {
		t.Errorf("a resumed run: %v, jobs %q", err, ids(k.Plan))
	}
}

// Without the code of rollouts, all jobs would run at once.
func TestRolloutIsRefusedByAProgramWithoutRollouts(t *testing.T) {
	t.Parallel()
	c := &Checked{Plan: &tasks.Plan{Rollout: &tasks.Rollout{}}}
	_, next := NextWave(t.Context(), world.World{}, invocation.Options{}, c)
	for _, err := range []error{next, SameWave(t.Context(), world.World{}, invocation.Options{}, c, &event.Run{Rollout: &event.Rollout{}}, false)} {
		if fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "built without rollouts") {
			t.Errorf("%v", err)
		}
	}
}
