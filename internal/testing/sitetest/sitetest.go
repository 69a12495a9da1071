// Package sitetest opens the site of a job in a repository of the git program, for the tests of packages that work in one
// without a session. It runs no phase of a job.
package sitetest

import (
	"context"
	"fmt"
	"os"
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
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// Stage is a repository, and the events of a job on it.
type Stage struct {
	Repo    *gittest.Sandbox
	Options site.Options

	mu     sync.Mutex
	events []event.Event
}

// New makes a repository whose commit has files, by their names.
func New(t *testing.T, committed map[string]string) *Stage {
	t.Helper()
	s := &Stage{Repo: gittest.NewSandbox(t)}
	for name, text := range committed {
		s.Repo.Write(name, text)
	}
	s.Repo.Run("add", "-A")
	s.Repo.Run("commit", "-q", "--allow-empty", "-m", "start")
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := files.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	s.Options = site.Options{
		RunID: "r1", Dir: dir, Work: work, Git: gitdir.Env{GitProgram: s.Repo.Git, Now: time.Now}, Sandbox: sandbox.State{Level: "none"}, Getenv: os.Getenv, Now: time.Now,
		Emit: func(e event.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.events = append(s.events, e)
		},
	}
	return s
}

// Job returns a job on the repository, with verify commands of the names v1, v2 and so on.
func (s *Stage) Job(lines ...string) tasks.Job {
	profile, _ := permission.Preset("build")
	var verify []tasks.Verify
	for i, line := range lines {
		verify = append(verify, tasks.Verify{Name: fmt.Sprintf("v%d", i+1), Run: line, Time: time.Minute})
	}
	return tasks.Job{
		ID: "a", Task: "a", Repo: tasks.Repo{Name: "repo", Kind: tasks.RepoPath, Dir: s.Repo.Root}, Matrix: map[string]string{}, Prompt: "Go.", Agent: "build",
		Model: "script:x", ModelName: "script:x", Profile: profile, Attempts: 1, Commit: &tasks.Commit{Branch: "millhand/a"}, Verify: verify,
	}
}

// Open opens the site of a job, and its sandbox. It is released at the end of the test.
func (s *Stage) Open(spec tasks.Job) (*site.Job, *site.Site) {
	t := s.Repo.T
	t.Helper()
	plan := &tasks.Plan{Jobs: []tasks.Job{spec}}
	ready, err := preflight.Check(t.Context(), plan, preflight.Options{Git: s.Options.Git, Mirrors: filepath.Join(s.Options.Work, "mirrors")})
	if err != nil {
		t.Fatal(err)
	}
	s.Options.Preflight = ready
	j := site.NewRun(plan, &s.Options).Job(spec)
	ctx := j.Begin(t.Context())
	t.Cleanup(func() { j.End(nil) })
	at, end := j.OpenSite(ctx)
	if end == nil {
		t.Cleanup(func() { at.Release(context.WithoutCancel(t.Context()), false) })
		end = at.Confine(ctx)
	}
	if end == nil {
		_, end = at.Sandboxes.Needed()
	}
	if end != nil {
		t.Fatalf("prepare: %+v", *end)
	}
	return j, at
}

// Of returns the events of a type.
func (s *Stage) Of(kind event.Type) []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(e event.Event) bool { return e.Type != kind })
}

// Warnings returns the texts of all warnings, a line each.
func (s *Stage) Warnings() string {
	var all []string
	for _, e := range s.Of(event.WarningIssued) {
		all = append(all, e.Warning.Message)
	}
	return strings.Join(all, "\n")
}
