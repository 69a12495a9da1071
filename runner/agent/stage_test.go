package agent

import (
	"context"
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
	"github.com/millhand/millhand/internal/model/opened"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
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

	mu     sync.Mutex
	events []event.Event
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
	dir, err := files.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	s.opts = site.Options{
		RunID: "r1", Dir: dir, Work: work, Git: gitdir.Env{GitProgram: program, Now: time.Now}, Sandbox: sandbox.State{Level: "none"}, Getenv: os.Getenv, Now: time.Now,
		Emit: func(e event.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		},
	}
	return s
}

// begin creates a job after its preflight that has not started.
func (s *stage) begin(plan *tasks.Plan, spec tasks.Job) *Job {
	s.t.Helper()
	plan.Jobs = []tasks.Job{spec}
	ready, err := preflight.Check(s.t.Context(), plan, preflight.Options{Git: s.opts.Git, Mirrors: filepath.Join(s.opts.Work, "mirrors")})
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
	return NewRun(site.NewRun(plan, &s.opts), &s.opts, money.NewBudget("run budget", plan.Budget.CostUSD, nil), s.uses, "")
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

// mkdirFor creates the parent directory of a file.
func mkdirFor(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
}
