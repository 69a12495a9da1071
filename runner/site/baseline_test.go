package site

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

// Jobs with the same commit, setup, commands and rights have the same results before the agent: the commands run
// once. Whatever the results can depend on makes them run again.
func TestTheBaselineRunsOnceForEqualJobs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage, *tasks.Plan, *tasks.Job)
		shared bool
	}{
		"equal":          {func(*stage, *tasks.Plan, *tasks.Job) {}, true},
		"another prompt": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Prompt = "Else." }, true},
		"another setup":  {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Setup = []string{"true"} }, false},
		"another env":    {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.SetupEnv = []string{"X"} }, false},
		"another limit":  {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Limits.Memory = 1 << 30 }, false},
		"another profile": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) {
			j.Profile, _ = permission.Preset("readonly")
		}, false},
		"another commit": {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Repo.Ref = "other" }, false},
		"the own tree":   {func(_ *stage, _ *tasks.Plan, j *tasks.Job) { j.Commit = nil }, false},
		"a hook, which can know the job": {func(_ *stage, p *tasks.Plan, _ *tasks.Job) {
			p.Hooks = []tasks.Hook{{Name: "h", On: tasks.JobStart, Command: []string{"true"}, Time: time.Minute}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			git(t, s.repo, "branch", "other")
			s.commit(map[string]string{"a": "one\n"})
			count := filepath.Join(t.TempDir(), "count")
			first := s.job("a")
			first.Verify = verify("echo >>"+count, "seq 5000; exit 3")
			second := first
			second.ID, second.Commit = "b", &tasks.Commit{Branch: "millhand/b"}
			plan := &tasks.Plan{}
			c.change(s, plan, &second)
			var results [][]event.Baseline
			for _, j := range s.beginAll(plan, first, second) {
				p := s.prepared(j)
				if end := (JobHooks{Site: p}).SetUp(t.Context()); end != nil {
					t.Fatalf("%+v", *end)
				}
				got, end := Verifier{Site: p}.Baseline(t.Context())
				if end != nil {
					t.Fatalf("%+v", *end)
				}
				results = append(results, got)
			}
			want(t, "runs", map[bool]int{true: 1, false: 2}[c.shared], strings.Count(read(t, count), "\n"))
			for i, id := range []string{"a", "b"} {
				got := results[i]
				if len(got) != 2 || !got[0].Passed || got[1].Passed || got[1].ExitCode != 3 || got[1].Shared != (c.shared && i == 1) {
					t.Fatalf("results of %s: %+v", id, got)
				}
				if at := got[1].OutputPath; filepath.Dir(at) != "outputs/"+id || !strings.HasSuffix(read(t, filepath.Join(s.opts.Dir.Path(), at)), "\n4999\n5000\n") {
					t.Errorf("the output of %s is %s", id, at)
				}
			}
			if ends := s.of(event.BaselineEnded); len(ends) != 4 || ends[3].Job != "b" || ends[3].Baseline.Shared != c.shared {
				t.Errorf("events %+v", ends)
			}
		})
	}
}

// Results that a task does not start with end its job, and so does an environment in which its commands can't run.
func TestTheBaselineDecidesWhetherTheJobStarts(t *testing.T) {
	for name, c := range map[string]struct {
		baseline tasks.Baseline
		line     string
		code     event.Code
		text     string
		ran      bool
	}{
		"passes":            {tasks.BaselineRun, "true", "", "", true},
		"fails":             {tasks.BaselineRun, "false", "", "", true},
		"must pass":         {tasks.BaselineMustPass, "false", event.CodeBaseline, "verify v1 fails before the agent starts", true},
		"must fail":         {tasks.BaselineMustFail, "true", event.CodeBaseline, "nothing to fix", true},
		"skip":              {tasks.BaselineSkip, "false", "", "", false},
		"a missing program": {tasks.BaselineRun, "no-such-program-4711", event.CodeEnvironment, "no-such-program-4711", true},
		"timed out":         {tasks.BaselineRun, "sleep 60", event.CodeEnvironment, "timed out after 100ms", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			spec := s.job("a")
			spec.Baseline, spec.Verify = c.baseline, verify(c.line)
			if strings.HasPrefix(c.line, "sleep") {
				spec.Verify[0].Time = 100 * time.Millisecond
			}
			_, end := Verifier{Site: s.prepared(s.begin(&tasks.Plan{}, spec))}.Baseline(t.Context())
			stopped(t, "baseline", end, c.code, c.text)
			started, ended := s.of(event.CommandStarted), s.of(event.BaselineEnded)
			if (len(started) == 1) != c.ran || len(ended) != len(started) {
				t.Fatalf("events %+v, %+v", started, ended)
			}
			if c.ran {
				want(t, "start", event.Command{Kind: event.BaselineCommand, Name: "v1", Run: c.line}, *started[0].Command)
				if fault := ended[0].Baseline.Fault; started[0].Session != "" || (fault != nil) != (name == "a missing program") {
					t.Errorf("session %q, fault %+v", started[0].Session, fault)
				}
			}
		})
	}
	s := setUp(t)
	s.opts.NoBaseline = true
	spec := s.job("a")
	spec.Verify = verify("false")
	if got, end := (Verifier{Site: s.prepared(s.begin(&tasks.Plan{}, spec))}).Baseline(t.Context()); got != nil || end != nil {
		t.Errorf("--no-baseline: %+v, %+v", got, end)
	}
}

// What the commands leave must not belong to the agent's work: a worktree is restored, with what setup left there,
// and in the user's own tree it is theirs.
func TestWhatTheBaselineLeavesIsNotTheAgents(t *testing.T) {
	for name, own := range map[string]bool{"worktree": false, "own tree": true} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.commit(map[string]string{"a": "one\n"})
			spec := s.job("a")
			spec.Setup = []string{"echo >of-setup"}
			spec.Verify = verify("echo two >a; rm of-setup; echo >new")
			if own {
				spec.Commit = nil
			}
			p := s.prepared(s.begin(&tasks.Plan{}, spec))
			if end := (JobHooks{Site: p}).SetUp(t.Context()); end != nil {
				t.Fatalf("%+v", *end)
			}
			if _, end := (Verifier{Site: p}).Baseline(t.Context()); end != nil {
				t.Fatalf("%+v", *end)
			}
			dir := p.Space.Dir()
			restored := read(t, filepath.Join(dir, "a")) == "one\n" && exists(filepath.Join(dir, "of-setup")) && !exists(filepath.Join(dir, "new"))
			if restored == own {
				t.Errorf("restored: %t", restored)
			}
			want(t, "changes of the agent", nil, changed(t, p))
			wanted := []string{"setup: of-setup"}
			if own {
				wanted = append(wanted, "baseline: a", "baseline: new", "baseline: of-setup")
			}
			want(t, "left", wanted, s.left())
		})
	}
}

// A worktree that can't be restored would give the agent's change files of the baseline.
func TestABaselineThatCantBeUndoneEndsTheJob(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"a": "one\n"})
	spec := s.job("a")
	spec.Verify = verify("echo two >a; rm -r " + filepath.Join(s.repo, ".git", "objects"))
	_, end := Verifier{Site: s.prepared(s.begin(&tasks.Plan{}, spec))}.Baseline(t.Context())
	stopped(t, "baseline", end, event.CodeInternal, "undo what verify commands changed")
}

func TestASignalEndsTheBaseline(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Verify = verify("true")
	p := s.prepared(s.begin(&tasks.Plan{}, spec))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
	got, end := Verifier{Site: p}.Baseline(ctx)
	if stopped(t, "baseline", end, event.CodeTerminated, ""); end == nil || got != nil {
		t.Errorf("%+v, %+v", got, end)
	}
}

// The job's time is for its agent: a slow baseline costs none of it.
func TestTheTimeOfTheBaselineDoesNotCount(t *testing.T) {
	s := setUp(t)
	marker, start := filepath.Join(t.TempDir(), "ran"), time.Now()
	s.opts.Now = func() time.Time {
		if _, err := os.Stat(marker); err == nil {
			return start.Add(time.Hour)
		}
		return start
	}
	spec := s.job("a")
	spec.Limits.Time = 10 * time.Minute
	spec.Verify = verify("echo >" + marker)
	j := s.begin(&tasks.Plan{}, spec)
	if _, end := (Verifier{Site: s.prepared(j)}).Baseline(t.Context()); end != nil {
		t.Fatalf("%+v", *end)
	}
	want(t, "time left", 10*time.Minute, j.TimeLimit.Left())
}

// The reason of a job whose verify commands fail names what its environment lacks.
func TestWhatTheEnvironmentLacks(t *testing.T) {
	s := setUp(t)
	spec := s.job("a")
	spec.Verify = verify("false", "no-such-program-4711")
	v := Verifier{Site: s.prepared(s.begin(&tasks.Plan{}, spec))}
	ran, end := v.All(t.Context(), 1)
	if end != nil || len(ran) != 2 {
		t.Fatalf("%+v, %+v", ran, end)
	}
	if got := v.Missing(spec.Verify, ran); !strings.HasPrefix(got, "; verify v2 can't run here: ") || !strings.Contains(got, "(program missing)") {
		t.Errorf("it lacks %q", got)
	}
	if got := v.Missing(spec.Verify, ran[:1]); got != "" {
		t.Errorf("a failed command lacks %q", got)
	}
}
