package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

func TestReasonOfSkippedJob(t *testing.T) {
	s := setUp(t)
	broken := error(nil)
	s.opts.Preflight, s.opts.Stops.MaxFailures, s.opts.Broken = &preflight.Result{Starts: map[string]preflight.Start{"left": {Skip: &ending.Stop{Code: event.CodeCondition, Detail: "no"}}}}, 2, func() error { return broken }
	r := newRun(&tasks.Plan{}, s.opts)
	ends := map[string]event.JobEnd{"good": {Outcome: event.Passed}, "bad": {Outcome: event.Failed}}
	for name, c := range map[string]struct {
		job      tasks.Job
		failures int
		want     event.Code
	}{
		"nothing":           {tasks.Job{ID: "a", Needs: []string{"good"}}, 1, ""},
		"found before":      {tasks.Job{ID: "left"}, 0, event.CodeCondition},
		"a need":            {tasks.Job{ID: "a", Needs: []string{"good", "bad"}}, 0, event.CodeNeed},
		"too many failures": {tasks.Job{ID: "a"}, 2, event.CodeMaxFailures},
	} {
		if got := r.unwanted(c.job, ends, c.failures); codeOf(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if !ready(tasks.Job{Needs: []string{"good"}}, ends) || ready(tasks.Job{Needs: []string{"good", "later"}}, ends) {
		t.Error("a job is ready when all that it needs is over")
	}
	spec := tasks.Job{ID: "a", Model: "openai/m"}
	if got := r.skip(t.Context(), spec, nil); got != nil {
		t.Errorf("%+v", got)
	}
	r.opts.Preflight.Starts["a"] = preflight.Start{Earlier: event.Commit{Hash: "x"}}
	if got := r.skip(t.Context(), spec, nil); got != nil {
		t.Errorf("a push costs nothing, and: %+v", got)
	}
	broken = errors.New("no room")
	if got := r.skip(t.Context(), spec, nil); codeOf(got) != event.CodeInternal || !strings.Contains(got.Detail, "no room") {
		t.Errorf("no events: %+v", got)
	}
	if err := (&run{}).broken(); err != nil {
		t.Error(err)
	}
}

// Reports, shards and rollouts know of a job what the start of its run has.
func TestAPlannedJobHasEachOfItsFields(t *testing.T) {
	j := tasks.Job{
		ID: "a", Task: "t", Repo: tasks.Repo{Name: "r", Kind: tasks.RepoURL, URL: "https://h.example/r"}, Matrix: map[string]string{"os": "x"}, ModelName: "m",
		Profile: permission.Profile{Name: "p"}, Index: 4, Hash: "h", Findings: true,
	}
	got := reflect.ValueOf(plannedJob(j, 2))
	for field, value := range got.Fields() {
		if value.IsZero() {
			t.Errorf("%s is not set: set it in plannedJob, and what it follows from in this test", field.Name)
		}
	}
}

func TestTheStartOfARunNamesItsJobs(t *testing.T) {
	r := newRun(&tasks.Plan{
		Hash: "h", Manifests: []string{"m"}, Shard: tasks.Shard{Index: 2, Total: 3},
		Jobs:      []tasks.Job{{ID: "a", Task: "t", Repo: tasks.Repo{Name: "r"}, ModelName: "m", Index: 4}},
		Elsewhere: []tasks.Job{{ID: "b"}},
	}, setUp(t).opts)
	got := Describe(r.Plan, r.opts)
	if got.PlanHash != "h" || len(got.Jobs) != 1 || got.Jobs[0].ID != "a" || got.Jobs[0].Shard != 2 || got.Jobs[0].Index != 4 || got.Shard.Total != 3 || len(got.Elsewhere) != 1 {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		j    tasks.Job
		want bool
	}{{tasks.Job{Setup: []string{"x"}}, true}, {tasks.Job{Verify: []tasks.Verify{{}}}, true}, {tasks.Job{Profile: readonly()}, false}} {
		c.j.Profile = readonly()
		if got := (&tasks.Plan{Jobs: []tasks.Job{c.j}}).RunsCommands(); got != c.want {
			t.Errorf("%+v: %t", c.j, got)
		}
	}
	if !(&tasks.Plan{Tools: []tasks.CustomTool{{}}}).RunsCommands() {
		t.Error("tools of the manifest are commands")
	}
}

// Only failures count for the maximum of failed jobs, and a run out of time is why its other jobs did not start.
func TestWhatCountsAsAFailure(t *testing.T) {
	for outcome, want := range map[event.Outcome]int{event.Passed: 0, event.Skipped: 0, event.Failed: 1, event.Limit: 1, event.Cancelled: 1} {
		if got := failed(event.JobEnd{Outcome: outcome}); got != want {
			t.Errorf("%s counts as %d", outcome, got)
		}
	}
	for code, want := range map[event.Code]event.Code{event.CodeRunTime: event.CodeDeadline, event.CodeRunBudget: event.CodeRunBudget} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(event.EndCause{Code: code})
		if got := stoppedBefore(ctx); got.Code != want {
			t.Errorf("%s: %s", code, got.Code)
		}
	}
}

// A job that is not started because the ledger did not respond has the signal as its reason, if there was one.
func TestAJobThatCantBePaidHasItsReason(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
	failed := errors.New("no connection")
	for name, c := range map[string]struct {
		signal bool
		err    error
		want   event.Code
	}{
		"a fault":  {false, failed, event.CodeInternal},
		"a signal": {true, failed, event.CodeTerminated},
		"a limit":  {true, fmt.Errorf("check the budget: %w", &money.Exceeded{}), event.CodeBudget},
	} {
		ctx := t.Context()
		if c.signal {
			ctx = interrupted
		}
		if got := unpaid(ctx, c.err); got.Code != c.want || c.want != event.CodeTerminated && got.Detail != c.err.Error() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Jobs that change one tree wait for one another, also in different directories of it.
func TestJobsOnOneTree(t *testing.T) {
	s := setUp(t)
	mkdirFor(t, filepath.Join(s.repo, "web/b"))
	writeFile(t, filepath.Join(s.repo, "web/b"), "x\n")
	git(t, s.repo, "add", "-A")
	git(t, s.repo, "commit", "-q", "-m", "files")
	spec := s.job("a")
	spec.Commit, spec.Repo.Dir = nil, filepath.Join(s.repo, "web")
	j := s.begin(&tasks.Plan{}, spec)
	current, branch, elsewhere := spec, spec, spec
	current.Commit, branch.Commit = &tasks.Commit{Branch: tasks.CurrentBranch}, &tasks.Commit{Branch: "b"}
	elsewhere.Repo.Kind = tasks.RepoURL
	unknown := spec
	unknown.ID = "not checked"
	for name, c := range map[string]struct {
		job  tasks.Job
		want string
	}{
		"without a commit": {spec, s.repo}, "on the current branch": {current, s.repo}, "on a branch": {branch, ""}, "a mirror": {elsewhere, ""}, "not checked": {unknown, spec.Repo.Dir},
	} {
		if got := j.run.ownTree(c.job); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A job whose calls its profile denied, and that changed nothing, probably has the wrong profile.
func TestAProfileThatWasForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		changing bool
		code     event.Code
		warned   bool
	}{
		"a task that may change nothing": {false, "", true},
		"a task that asks for changes":   {true, event.CodeProfile, false},
	} {
		s := setUp(t)
		s.opts.Equipment.OpenModel = plays(t, writes)
		spec := s.job("a")
		spec.Profile, spec.Changing = readonly(), c.changing
		s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{spec}})
		if end := s.of(event.JobEnded)[0].JobEnd; end.Code != c.code || strings.Contains(s.warnings(), permission.CannotChange("readonly")) != c.warned {
			t.Errorf("%s: %+v; warnings %s", name, end, s.warnings())
		}
	}
}

// readonly is a profile without bash.
func readonly() permission.Profile {
	p, _ := permission.Preset("readonly")
	return p
}

// The start of a run has what limits it, and what it was made from.
func TestTheStartOfARunHasItsLimits(t *testing.T) {
	s := setUp(t)
	plan := &tasks.Plan{
		Manifests: []string{"m.yaml"}, Budget: tasks.Budget{CostUSD: money.Dollar}, Evidence: &tasks.Evidence{Sums: []string{"sum"}},
		Jobs: []tasks.Job{{ID: "a", Limits: tasks.Limits{Turns: 3, Time: time.Minute, Denials: 2}}},
	}
	got := Describe(plan, s.opts)
	if got.MaxCostUSD == nil || *got.MaxCostUSD != money.Dollar {
		t.Errorf("budget %v", got.MaxCostUSD)
	}
	want := &event.Evidence{Manifests: []event.PolicyFile{{Path: "m.yaml", SHA256: "sum"}}, Caps: map[string]event.Caps{"a": {Turns: 3, TimeMS: 60000, Denials: 2}}}
	if diff := cmp.Diff(want, got.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if got := Describe(&tasks.Plan{}, s.opts); got.MaxCostUSD != nil || got.Evidence != nil || got.Shard != nil {
		t.Errorf("without limits: %+v", got)
	}
}
