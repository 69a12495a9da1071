package trials

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
	"github.com/millhand/millhand/runner/ablation"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// stage is a repository, and the events of a job on it.
type stage struct {
	t    *testing.T
	repo string
	opts site.Options

	mu     sync.Mutex
	events []event.Event
}

func setUp(t *testing.T, committed map[string]string) *stage {
	t.Helper()
	s := &stage{t: t, repo: t.TempDir()}
	for name, text := range committed {
		writeFile(t, filepath.Join(s.repo, name), text)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "start"}} {
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

// job creates a job on the repository, with verify commands of the names v1, v2 and so on.
func (s *stage) job(lines ...string) tasks.Job {
	profile, _ := permission.Preset("build")
	job := tasks.Job{
		ID: "a", Task: "a", Repo: tasks.Repo{Name: "repo", Kind: tasks.RepoPath, Dir: s.repo}, Matrix: map[string]string{}, Prompt: "Go.", Agent: "build",
		Model: "script:x", ModelName: "script:x", Profile: profile, Attempts: 1, Commit: &tasks.Commit{Branch: "millhand/a"}, Ablate: tasks.Ablate{Time: time.Minute, Jobs: 2},
	}
	for i, line := range lines {
		job.Verify = append(job.Verify, tasks.Verify{Name: fmt.Sprintf("v%d", i+1), Run: line, Time: time.Minute})
	}
	return job
}

// open opens the site of a job. It is released at the end of the test.
func (s *stage) open(spec tasks.Job) (*site.Job, *site.Site) {
	s.t.Helper()
	plan := &tasks.Plan{Jobs: []tasks.Job{spec}}
	ready, err := preflight.Check(s.t.Context(), plan, preflight.Options{Git: s.opts.Git, Mirrors: filepath.Join(s.opts.Work, "mirrors")})
	if err != nil {
		s.t.Fatal(err)
	}
	s.opts.Preflight = ready
	j := site.NewRun(plan, &s.opts).Job(spec)
	j.End = func(error) {}
	at, end := j.OpenSite(s.t.Context())
	if end == nil {
		s.t.Cleanup(func() { at.Release(context.WithoutCancel(s.t.Context()), false) })
		end = at.Confine(s.t.Context())
	}
	if end == nil {
		_, end = at.Sandboxes.Needed()
	}
	if end != nil {
		s.t.Fatalf("prepare: %+v", *end)
	}
	return j, at
}

// of returns the events of a type.
func (s *stage) of(kind event.Type) []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(e event.Event) bool { return e.Type != kind })
}

// openFiles returns what this process has open below a directory of the run, where the system lists it. The
// garbage collector closes packs.
func (s *stage) openFiles(dir string) (paths []string) {
	all, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range all {
		if path, err := os.Readlink(fd); err == nil && strings.HasPrefix(path, filepath.Join(s.opts.Work, dir)+"/") && !strings.Contains(path, "/objects/pack/") {
			paths = append(paths, path)
		}
	}
	return paths
}

func entry(path string, mode ablation.Mode, data string) ablation.Entry {
	return ablation.Entry{Path: path, Content: ablation.Content{Mode: mode, Data: []byte(data)}}
}

func want[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
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
