package delivery

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
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// stage is a repository and the events of jobs whose work on it is delivered.
type stage struct {
	t    *testing.T
	repo string
	opts site.Options

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
func (s *stage) begin(plan *tasks.Plan, spec tasks.Job) *site.Job {
	s.t.Helper()
	plan.Jobs = []tasks.Job{spec}
	ready, err := preflight.Check(s.t.Context(), plan, preflight.Options{Git: s.opts.Git, Mirrors: filepath.Join(s.opts.Work, "mirrors")})
	if err != nil {
		s.t.Fatal(err)
	}
	s.opts.Preflight = ready
	j := site.NewRun(plan, &s.opts).Job(spec)
	j.End = func(error) {}
	return j
}

// prepared opens the site of a job and its sandbox, like its first call; its resources are released at
// the end of the test.
func (s *stage) prepared(j *site.Job) *site.Site {
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

// left returns what a job leaves in a site.
func (s *stage) left(j *site.Job, at *site.Site) Work {
	return Work{Job: j, Options: &s.opts, Site: at, Requests: NewRequests(j, s.opts.Redact), Profile: j.Spec.Profile}
}

// delivery creates the delivery of a job whose session has written files, by name.
func (s *stage) delivery(plan *tasks.Plan, spec tasks.Job, files map[string]string) *Delivery {
	s.t.Helper()
	j := s.begin(plan, spec)
	p := s.prepared(j)
	p.Touched = true
	for name, text := range files {
		writeFile(s.t, filepath.Join(p.Space.Dir(), name), text)
	}
	return &Delivery{Work: s.left(j, p)}
}

// remote creates a bare repository with the stage's branch main and adds it as the
// origin of the stage's repository.
func (s *stage) remote() (url string) {
	s.t.Helper()
	dir := s.t.TempDir()
	git(s.t, dir, "init", "-q", "--bare", "-b", "main")
	git(s.t, s.repo, "remote", "add", "origin", "file://"+dir)
	git(s.t, s.repo, "push", "-q", "origin", "main")
	return "file://" + dir
}

// at returns the commit of a remote's branch, "" if it does not exist.
func at(t *testing.T, url, branch string) string {
	t.Helper()
	hash, _, _ := strings.Cut(git(t, t.TempDir(), "ls-remote", url, "refs/heads/"+branch), "\t")
	return hash
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

func codeOf(s *ending.Stop) event.Code {
	if s == nil {
		return ""
	}
	return s.Code
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
	mkdirFor(t, path)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mkdirFor(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
}
