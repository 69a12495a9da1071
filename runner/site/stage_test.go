package site

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// stage is a repository and the events of jobs that are prepared on it.
type stage struct {
	t       *testing.T
	repo    string
	opts    Options
	signing preflight.Signing

	released map[*Site]bool

	mu     sync.Mutex
	events []event.Event
	ended  []error // causes by which jobs were ended
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
	s.opts = Options{
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
	return s.beginAll(plan, spec)[0]
}

// beginAll is begin for jobs of one run.
func (s *stage) beginAll(plan *tasks.Plan, specs ...tasks.Job) (all []*Job) {
	s.t.Helper()
	plan.Jobs = specs
	ready, err := preflight.Check(s.t.Context(), plan, preflight.Options{Git: s.opts.Git, Mirrors: filepath.Join(s.opts.Work, "mirrors"), History: s.opts.History, Signing: s.signing})
	if err != nil {
		s.t.Fatal(err)
	}
	s.opts.Preflight = ready
	r := NewRun(plan, &s.opts)
	s.t.Cleanup(func() { r.Close(s.t.Context()) })
	for _, spec := range specs {
		j := r.Job(spec)
		j.End = func(cause error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ended = append(s.ended, cause)
		}
		all = append(all, j)
	}
	return all
}

// prepared opens the site of a job and its sandbox, like its first call; its resources are released at
// the end of the test.
func (s *stage) prepared(j *Job) *Site {
	s.t.Helper()
	p, end := j.OpenSite(s.t.Context())
	if end == nil {
		s.t.Cleanup(func() { s.release(p) })
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

// release releases a site whose work is saved, once.
func (s *stage) release(p *Site) {
	if !s.released[p] {
		p.Release(context.WithoutCancel(s.t.Context()), false)
	}
	if s.released == nil {
		s.released = map[*Site]bool{}
	}
	s.released[p] = true
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

// commit commits files to the stage's repository.
func (s *stage) commit(files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		writeFile(s.t, filepath.Join(s.repo, name), text)
	}
	git(s.t, s.repo, "add", "-A")
	git(s.t, s.repo, "commit", "-q", "-m", "files")
}

// verify returns verify commands with the names v1, v2 and so on.
func verify(lines ...string) (all []tasks.Verify) {
	for i, line := range lines {
		all = append(all, tasks.Verify{Name: fmt.Sprintf("v%d", i+1), Run: line, Time: time.Minute})
	}
	return all
}

// inClean makes verify commands run in a clean checkout.
func inClean(all []tasks.Verify) []tasks.Verify {
	for i := range all {
		all[i].In = tasks.InClean
	}
	return all
}

// left returns the files that something else than the agent has left, as "MAKER: PATH".
func (s *stage) left() (all []string) {
	for _, e := range s.of(event.FilesLeft) {
		for _, f := range e.Left.Files {
			all = append(all, string(e.Left.By)+": "+f.Path)
		}
	}
	return all
}

// openFiles returns what this process has open below a directory of the run, where the system lists it: a run with
// thousands of jobs must not run out of descriptors. The garbage collector closes packs.
func (s *stage) openFiles(dir string) (paths []string) {
	all, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range all {
		if path, err := os.Readlink(fd); err == nil && strings.HasPrefix(path, filepath.Join(s.opts.Work, dir)+"/") && !strings.Contains(path, "/objects/pack/") {
			paths = append(paths, path)
		}
	}
	return paths
}

// changed returns the paths of the agent's changes in a site.
func changed(t *testing.T, p *Site) (paths []string) {
	t.Helper()
	f, err := p.Diff.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Changes.Changes {
		paths = append(paths, c.Path)
	}
	return paths
}

// want compares a value with the one that is wanted.
func want[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// stopped compares the code of a stop and a text of its reason with those that are wanted; "" is no stop.
func stopped(t *testing.T, what string, end *ending.Stop, code event.Code, text string) {
	t.Helper()
	switch {
	case end == nil && code == "":
	case end == nil || end.Code != code || !strings.Contains(end.Detail, text):
		t.Errorf("%s: %+v, want %q with %q", what, end, code, text)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
