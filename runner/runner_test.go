package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/runner/site"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// stage is a repository and the events of a run on it.
type stage struct {
	t    *testing.T
	repo string
	opts Options

	forge   func(url string) (*forge.Client, forge.Path, error) // see onForge; nil for none
	checked func()                                              // is called after the preflight of a job that is reverted or rebased; nil for nothing

	mu     sync.Mutex
	events []event.Event
}

func setUp(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, repo: t.TempDir()}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = s.repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git, err := proc.Look("git", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := files.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	s.opts = Options{Options: site.Options{
		RunID: "r1", Dir: dir, Work: work, Git: gitdir.Env{GitProgram: git, Now: time.Now}, Sandbox: sandbox.State{Level: "none"},
		Getenv: os.Getenv, Now: time.Now,
		Emit: func(e event.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		},
	}}
	return s
}

// run runs a plan after its preflight, like the
// command.
func (s *stage) run(ctx context.Context, plan *tasks.Plan) event.Exit {
	s.t.Helper()
	s.checks(plan)
	return Run(ctx, plan, s.opts)
}

// checks runs the preflight of a plan.
func (s *stage) checks(plan *tasks.Plan) {
	s.t.Helper()
	var err error
	if s.opts.Preflight, err = preflight.Check(s.t.Context(), plan, preflight.Options{Git: s.opts.Git, History: s.opts.History, Forge: s.forge}); err != nil {
		s.t.Fatal(err)
	}
}

// begin creates a job after its preflight that has not started.
func (s *stage) begin(plan *tasks.Plan, spec tasks.Job) *job {
	s.t.Helper()
	plan.Jobs = []tasks.Job{spec}
	ready, err := preflight.Check(s.t.Context(), plan, preflight.Options{Git: s.opts.Git, Mirrors: filepath.Join(s.opts.Work, "mirrors"), Forge: s.forge})
	if err != nil {
		s.t.Fatal(err)
	}
	s.opts.Preflight = ready
	j := newRun(plan, s.opts).job(spec)
	j.End = func(error) {}
	return j
}

// prepared runs the first phase of a job, and opens its sandbox like its first call; its resources are released at
// the end of the test.
func (s *stage) prepared(j *job) *site.Site {
	s.t.Helper()
	p, end := j.OpenSite(s.t.Context())
	if end == nil {
		s.t.Cleanup(func() { p.Release(context.WithoutCancel(s.t.Context()), false) })
		end = p.Confine(s.t.Context())
	}
	if end == nil {
		_, end = p.Sandboxes.Needed()
	}
	if end != nil {
		s.t.Fatalf("prepare: %+v", *end)
	}
	return p
}

// of returns the events of a type.
func (s *stage) of(kind event.Type) []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(e event.Event) bool { return e.Type != kind })
}

// warnings returns the texts of all warnings so far.
func (s *stage) warnings() string {
	var all []string
	for _, e := range s.of(event.WarningIssued) {
		all = append(all, e.Warning.Message)
	}
	return strings.Join(all, "\n")
}

// job creates a job on the stage's repository that writes a file.
func (s *stage) job(id string, needs ...string) tasks.Job {
	profile, _ := permission.Preset("build")
	return tasks.Job{
		ID: id, Task: id, Repo: tasks.Repo{Name: "repo", Kind: tasks.RepoPath, Dir: s.repo}, Matrix: map[string]string{}, Prompt: "Go.", Agent: "build",
		Model: "script:x", ModelName: "script:x", Profile: profile, Attempts: 1, Commit: &tasks.Commit{Branch: "millhand/" + id}, Needs: needs,
	}
}

// plays opens scripted models for jobs.
func plays(t *testing.T, turns string) func(tasks.Job, string, opened.Notices) (opened.Conversation, error) {
	t.Helper()
	sc, err := script.Parse([]byte("version: 1\nturns:\n"+turns), "model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return func(_ tasks.Job, child string, _ opened.Notices) (opened.Conversation, error) {
		p, err := sc.Player(child)
		return opened.Conversation{Model: p, Finish: p.Finish}, err
	}
}

// ends returns how each job ended.
func (s *stage) ends() map[string]string {
	ends := map[string]string{}
	for _, e := range s.events {
		if e.JobEnd != nil {
			ends[e.Job] += fmt.Sprintf("%s %d", e.JobEnd.Outcome, e.JobEnd.ExitCode)
		}
	}
	return ends
}

func (s *stage) reason(job string) string {
	for _, e := range s.events {
		if e.JobEnd != nil && e.Job == job {
			return e.JobEnd.Reason
		}
	}
	return ""
}

const writes = "  - {calls: [{tool: write, args: {filePath: a, content: x}}], usage: {input: 10, output: 1}}\n  - {text: ok, usage: {input: 10, output: 1}}\n"

func TestPanicFailsOnlyItsJob(t *testing.T) {
	s := setUp(t)
	open := plays(t, writes)
	s.opts.Equipment.OpenModel = func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		if j.ID == "two" {
			panic("boom")
		}
		return open(j, child, on)
	}
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 2, Jobs: []tasks.Job{s.job("one"), s.job("two"), s.job("three")}})
	want := map[string]string{"one": "passed 0", "two": "error 70", "three": "passed 0"}
	if diff := cmp.Diff(want, s.ends()); diff != "" || exit != event.ExitInternal {
		t.Errorf("exit %d\n%s", exit, diff)
	}
	if !strings.Contains(s.reason("two"), "boom") {
		t.Errorf("the reason is %q", s.reason("two"))
	}
	out, err := exec.Command("git", "-C", s.repo, "worktree", "list").Output()
	if err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("worktrees are left: %s %v", out, err)
	}
}

func TestPanicWhileAJobIsOpenedReleasesItsTree(t *testing.T) {
	for name, commit := range map[string]bool{"own tree": false, "worktree": true} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t)
			s.opts.Equipment.OpenModel = plays(t, writes)
			emit := s.opts.Emit
			s.opts.Emit = func(e event.Event) {
				if e.Type == event.JobStarted && e.Job == "one" {
					panic("boom")
				}
				emit(e)
			}
			one, two := s.job("one"), s.job("two")
			if !commit {
				one.Commit, two.Commit = nil, nil
			}
			exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{one, two}})
			want := map[string]string{"one": "error 70", "two": "passed 0"}
			if diff := cmp.Diff(want, s.ends()); diff != "" || exit != event.ExitInternal {
				t.Errorf("exit %d\n%s", exit, diff)
			}
		})
	}
}

func TestJobWaitsForNeeds(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	bad := s.job("bad")
	bad.Verify = []tasks.Verify{{Name: "no", Run: "false", Time: time.Minute}}
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 4, Jobs: []tasks.Job{
		s.job("last", "first", "second"), s.job("second", "first"), s.job("first"), bad, s.job("after-bad", "bad"), s.job("and-so-on", "after-bad"),
	}})
	want := map[string]string{
		"first": "passed 0", "second": "passed 0", "last": "passed 0",
		"bad": "failed 1", "after-bad": "skipped 0", "and-so-on": "skipped 0",
	}
	if diff := cmp.Diff(want, s.ends()); diff != "" || exit != event.ExitFailed {
		t.Errorf("exit %d\n%s", exit, diff)
	}
	if got := s.reason("after-bad"); got != "needs job bad, which did not pass (failed)" {
		t.Errorf("the reason is %q", got)
	}
	over := map[string]bool{}
	for _, e := range s.events {
		switch {
		case e.JobEnd != nil:
			over[e.Job] = true
		case e.JobStart != nil && e.Job == "last" && !(over["first"] && over["second"]):
			t.Error("a job began before those that it needs were over")
		}
	}
}

func TestTheRunsBudgetStopsEveryJob(t *testing.T) {
	s := setUp(t)
	var turns strings.Builder
	for i := range 50 {
		fmt.Fprintf(&turns, "  - {calls: [{tool: glob, args: {pattern: x%d}}], usage: {input: 10, output: 1}}\n", i)
	}
	open := plays(t, turns.String())
	s.opts.Equipment.OpenModel = func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		c, err := open(j, child, on)
		c.Model = model.Priced(c.Model, func(money.Usage) (money.USD, bool) { return money.Dollar, true })
		return c, err
	}
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 3, Budget: tasks.Budget{CostUSD: 10 * money.Dollar}, Jobs: []tasks.Job{s.job("a"), s.job("b"), s.job("c"), s.job("d")}})
	if exit != event.ExitBudget {
		t.Errorf("exit %d", exit)
	}
	var spent money.USD
	for _, e := range s.events {
		if e.Type == event.TurnEnded {
			spent += *e.Turn.CostUSD
		}
	}
	// Each of the three jobs may have been in a call when the limit was reached.
	if spent < 10*money.Dollar || spent > 12*money.Dollar {
		t.Errorf("spent %s of 10", spent)
	}
	if got := s.ends()["d"]; got != "skipped 5" {
		t.Errorf("the last job: %s", got)
	}
}

func TestRefusedProviderGetsNoMoreRequests(t *testing.T) {
	s := setUp(t)
	asked := 0
	s.opts.Equipment.OpenModel = func(tasks.Job, string, opened.Notices) (opened.Conversation, error) {
		return opened.Conversation{Model: streamFunc(func() (model.Response, error) {
			asked++
			return model.Response{}, model.Fail(model.ClassAuth, errors.New("bad key"))
		})}, nil
	}
	exit := s.run(t.Context(), &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("a"), s.job("b")}})
	want := map[string]string{"a": "provider 6", "b": "skipped 6"}
	if diff := cmp.Diff(want, s.ends()); diff != "" || exit != event.ExitAuth || asked != 1 {
		t.Errorf("exit %d, asked %d times\n%s", exit, asked, diff)
	}
}

// streamFunc is a model implemented by one function.
type streamFunc func() (model.Response, error)

func (f streamFunc) Stream(context.Context, model.Request, func(model.Delta)) (model.Response, error) {
	return f()
}

func TestSetupFailsBeforeAnyModelCall(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = func(tasks.Job, string, opened.Notices) (opened.Conversation, error) {
		t.Error("a model was opened")
		return opened.Conversation{}, errors.New("no")
	}
	j := s.job("a")
	j.Setup = []string{"true", "echo no such package; exit 7"}
	exit := s.run(t.Context(), &tasks.Plan{Jobs: []tasks.Job{j}})
	if got := s.reason("a"); exit != event.ExitFailed || !strings.Contains(got, "no such package") || !strings.Contains(got, "exit code 7") {
		t.Errorf("exit %d: %s", exit, got)
	}
}

func TestExitCodeOfFailures(t *testing.T) {
	for on, want := range map[event.FailOn]event.Exit{event.FailOnAny: event.ExitFailed, event.FailOnAll: event.ExitOK} {
		s := setUp(t)
		s.opts.Equipment.OpenModel, s.opts.FailOn = plays(t, writes), on
		bad := s.job("bad")
		bad.Setup = []string{"false"}
		if exit := s.run(t.Context(), &tasks.Plan{Jobs: []tasks.Job{s.job("good"), bad}}); exit != want {
			t.Errorf("%v: exit %d", on, exit)
		}
	}
}

func TestRequireChangesWithoutAny(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, "  - text: nothing to do\n")
	j := s.job("a")
	j.RequireChanges = true
	if exit := s.run(t.Context(), &tasks.Plan{Jobs: []tasks.Job{j}}); exit != event.ExitFailed {
		t.Errorf("exit %d", exit)
	}
}

func TestUncreatableWorkspaceFailsTheJob(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	s.opts.Work = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(s.opts.Work, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	exit := s.run(t.Context(), &tasks.Plan{Jobs: []tasks.Job{s.job("a")}})
	if got := s.ends()["a"]; exit != event.ExitFailed || got != "error 1" || !strings.Contains(s.reason("a"), "prepare the workspace") {
		t.Errorf("exit %d, %s: %s", exit, got, s.reason("a"))
	}
}

// signalAt makes the run's emitter cancel its context, like a signal, at
// the first event that matches.
func (s *stage) signalAt(fits func(event.Event) bool) context.Context {
	ctx, cancel := context.WithCancelCause(s.t.Context())
	emit := s.opts.Emit
	s.opts.Emit = func(e event.Event) {
		emit(e)
		if fits(e) {
			cancel(event.Interrupt{Signal: "SIGTERM", Exit: event.ExitTerminate})
		}
	}
	return ctx
}

// phaseEnded matches the end of a phase.
func phaseEnded(name string) func(event.Event) bool {
	return func(e event.Event) bool { return e.Type == event.PhaseEnded && e.Phase.Name == name }
}

func TestSignalAfterSessionKeepsWork(t *testing.T) {
	tests := []struct {
		name string
		at   func(event.Event) bool
		want string
	}{
		{"before the changes", phaseEnded("disk"), "cancelled 143"},
		{"within the changes", func(e event.Event) bool { return e.Type == event.ChangesFound }, "cancelled 143"},
		{"before the commit", phaseEnded("changes"), "cancelled 143"},
		{"after the commit", func(e event.Event) bool { return e.Type == event.Committed }, "passed 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t)
			s.opts.Equipment.OpenModel = plays(t, writes)
			ctx := s.signalAt(tt.at)
			exit := s.run(ctx, &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("one")}})
			if got := s.ends()["one"]; got != tt.want || exit != event.ExitTerminate {
				t.Errorf("the job ended as %q, the run with %d; want %q and %d", got, exit, tt.want, event.ExitTerminate)
			}
			patch, err := os.ReadFile(filepath.Join(s.opts.Dir.Path(), "patches", "one.patch"))
			if err != nil || !strings.Contains(string(patch), "+++ b/a") {
				t.Errorf("the patch is %q, %v", patch, err)
			}
			if got := s.events[len(s.events)-2].JobEnd; got == nil || got.Patch != "patches/one.patch" {
				t.Errorf("the job's end reports %+v", got)
			}
		})
	}
}

func TestSignalWithoutPatchStillCommits(t *testing.T) {
	s := setUp(t)
	s.opts.Equipment.OpenModel = plays(t, writes)
	if err := os.WriteFile(filepath.Join(s.opts.Dir.Path(), "patches"), nil, 0o600); err != nil { // where the patch can't be written
		t.Fatal(err)
	}
	ctx := s.signalAt(phaseEnded("changes"))
	s.run(ctx, &tasks.Plan{Parallel: 1, Jobs: []tasks.Job{s.job("one")}})
	if out, err := exec.Command("git", "-C", s.repo, "show", "millhand/one:a").Output(); string(out) != "x" {
		t.Errorf("the branch has %q, %v", out, err)
	}
}
