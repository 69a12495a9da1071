package runner

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
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

// readonly is a profile without bash.
func readonly() permission.Profile {
	p, _ := permission.Preset("readonly")
	return p
}
