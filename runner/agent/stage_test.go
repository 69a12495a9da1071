package agent

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// stage is a repository and the events of jobs that are prepared on it.
type stage struct {
	t    *testing.T
	repo string
	opts site.Options
	uses Equipment
	// baseline is what the verify commands did before the agent.
	baseline []event.Baseline

	mu     sync.Mutex
	events []event.Event // of this process
	past   *history.Past // of those before
	// kill ends the process at the first event that it is true of; nil for none.
	kill func(event.Event) bool
	end  context.CancelCauseFunc // ends the session phase
	left *files.Dir              // the report directory as a process that was killed has left it
}

func setUp(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, repo: t.TempDir()}
	git(t, s.repo, "init", "-q", "-b", "main")
	git(t, s.repo, "commit", "-q", "--allow-empty", "-m", "start")
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, err := proc.Look("git", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	s.past = &history.Past{}
	s.opts = site.Options{
		RunID: "r1", Dir: s.reports(t.TempDir()), Work: work, Git: gitdir.Env{GitProgram: program, Now: time.Now}, Sandbox: sandbox.State{Level: "none"}, Getenv: os.Getenv, Now: time.Now,
		Emit: func(e event.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.left == nil {
				s.events = append(s.events, e)
			}
			if s.left == nil && s.kill != nil && s.kill(e) {
				s.die()
			}
		},
	}
	return s
}

// reports opens a report directory.
func (s *stage) reports(name string) *files.Dir {
	s.t.Helper()
	dir, err := files.Open(name)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { dir.Close() })
	return dir
}

// die saves what a process leaves that is killed now: its events, and its report directory.
func (s *stage) die() {
	left := s.t.TempDir()
	if err := os.CopyFS(left, s.opts.Dir.FS()); err != nil {
		s.t.Error(err)
	}
	s.left = s.reports(left)
	s.end(errors.New("killed"))
}

// next starts another process of the run, after the one that ended or was killed.
func (s *stage) next(o history.Order) {
	s.t.Helper()
	for _, e := range s.events {
		if err := s.past.Emit(e); err != nil {
			s.t.Fatal(err)
		}
	}
	run, err := history.Decide(s.past, o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.opts.History, s.opts.Work, s.opts.Dir = run, s.t.TempDir(), cmp.Or(s.left, s.opts.Dir)
	s.events, s.left, s.kill = nil, nil, nil
}

// begin creates a job after its preflight that has not started.
func (s *stage) begin(plan *tasks.Plan, spec tasks.Job) *Job {
	s.t.Helper()
	plan.Jobs = []tasks.Job{spec}
	ready, err := preflight.Check(s.t.Context(), plan, preflight.Options{Git: s.opts.Git, History: s.opts.History, Mirrors: filepath.Join(s.opts.Work, "mirrors")})
	if err != nil {
		s.t.Fatal(err)
	}
	s.opts.Preflight = ready
	j := s.run(plan).Job(spec)
	j.End = func(error) {}
	return j
}

// run returns what the sessions of a run of a plan share.
func (s *stage) run(plan *tasks.Plan) *Run {
	return NewRun(site.NewRun(plan, &s.opts), &s.opts, money.NewBudget("run budget", plan.Budget.CostUSD, time.Now, nil), s.uses, "")
}

// prepared opens the site of a job and its sandbox; its resources are released at the end of the test.
func (s *stage) prepared(j *Job) *site.Site {
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

// works runs a job's session with a scripted model; without turns, with the models that the stage has.
func (s *stage) works(plan *tasks.Plan, spec tasks.Job, turns string) (*site.Site, *ending.Result, *ending.Stop) {
	s.t.Helper()
	if turns != "" {
		s.uses.OpenModel = plays(s.t, turns)
	}
	s.opts.Emit(event.Event{Type: event.RunStarted, Run: &event.Run{ID: s.opts.RunID}})
	j := s.begin(plan, spec)
	p := s.prepared(j)
	r, end := s.session(j, p)
	return p, r, end
}

// session runs the session phase of a job, which ends with it.
func (s *stage) session(j *Job, p *site.Site) (*ending.Result, *ending.Stop) {
	s.t.Helper()
	ctx := j.Begin(s.t.Context())
	defer j.End(nil)
	s.end = j.End
	j.Emit(event.Event{Type: event.JobStarted, JobStart: &event.JobStart{Base: p.Base, Tree: p.Initial}})
	r, end := j.Work(ctx, p, s.baseline)
	ended := event.JobEnd{Outcome: event.Passed}
	if end != nil {
		ended = end.Code.End(end.Detail)
	}
	j.Emit(event.Event{Type: event.JobEnded, JobEnd: &ended})
	return r, end
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

// job creates a job on the stage's repository.
func (s *stage) job(id string) tasks.Job {
	profile, _ := permission.Preset("build")
	return tasks.Job{
		ID: id, Task: id, Repo: tasks.Repo{Name: "repo", Kind: tasks.RepoPath, Dir: s.repo}, Matrix: map[string]string{}, Prompt: "Go.", Agent: "build",
		Model: "script:x", ModelName: "script:x", Profile: profile, Attempts: 1, Commit: &tasks.Commit{Branch: "millhand/" + id},
	}
}

// commit commits files in the stage's repository.
func (s *stage) commit(files map[string]string) string {
	s.t.Helper()
	for name, text := range files {
		file := filepath.Join(s.repo, filepath.FromSlash(name))
		mkdirFor(s.t, file)
		writeFile(s.t, file, text)
	}
	git(s.t, s.repo, "add", "-A")
	git(s.t, s.repo, "commit", "-q", "-m", "more")
	return git(s.t, s.repo, "rev-parse", "HEAD")
}

// inCall is the start of a call in a turn of a session.
func inCall(session string, turn int) func(event.Event) bool {
	return func(e event.Event) bool {
		return e.Type == event.CallUpdated && e.Session == session && e.Call.Turn == turn && e.Call.Status == event.CallRunning
	}
}

// first is the first event of a type.
func first(kind event.Type) func(event.Event) bool {
	return func(e event.Event) bool { return e.Type == kind }
}

// checks returns a verify command.
func checks(name, run string) tasks.Verify {
	return tasks.Verify{Name: name, Run: run, Time: time.Minute}
}

// filesIn returns the contents of files in a workspace, "NAME: CONTENT" without white space around it; without those that are missing.
func filesIn(dir string, names ...string) string {
	var all []string
	for _, name := range names {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			all = append(all, name+": "+strings.TrimSpace(string(text)))
		}
	}
	return strings.Join(all, ", ")
}

// git runs git in a directory.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// plays opens scripted models for jobs.
func plays(t *testing.T, turns string) openModel {
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

// openModel opens the model of a job or a child.
type openModel = func(tasks.Job, string, opened.Notices) (opened.Conversation, error)

// casts opens a scripted model for each name.
func casts(t *testing.T, turns map[string]string) openModel {
	t.Helper()
	models := map[string]openModel{}
	for name, of := range turns {
		models[name] = plays(t, of)
	}
	return func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		return models[j.Model](j, child, on)
	}
}

// priced opens models whose input costs a unit for each token.
func priced(open openModel) openModel {
	return func(j tasks.Job, child string, on opened.Notices) (opened.Conversation, error) {
		c, err := open(j, child, on)
		c.Quotes = money.Quotes{{Schedule: money.Schedule{{Price: money.Price{Rates: money.Rates{Input: 1_000_000}}}}}}
		c.Model = charges{c.Model}
		return c, err
	}
}

// charges is a model whose responses have a cost.
type charges struct{ model.Model }

func (c charges) Stream(ctx context.Context, r model.Request, emit func(model.Delta)) (model.Response, error) {
	response, err := c.Model.Stream(ctx, r, emit)
	if response.Usage != nil {
		response.CostUSD = new(money.USD(response.Usage.Input))
	}
	return response, err
}

// mkdirFor creates the parent directory of a file.
func mkdirFor(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
}
