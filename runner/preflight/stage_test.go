package preflight

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// stage is a repository with one commit on main.
type stage struct {
	t       *testing.T
	repo    string
	mirrors string
	git     gitdir.Env
}

func setUp(t *testing.T) *stage {
	t.Helper()
	program, err := proc.Look("git", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, repo: t.TempDir(), mirrors: t.TempDir(), git: gitdir.Env{GitProgram: program, Now: time.Now}}
	git(t, s.repo, "init", "-q", "-b", "main")
	git(t, s.repo, "commit", "-q", "--allow-empty", "-m", "start")
	return s
}

// job creates a job on the stage's repository.
func (s *stage) job(id string) tasks.Job {
	profile, _ := permission.Preset("build")
	return tasks.Job{
		ID: id, Task: id, Repo: tasks.Repo{Name: "repo", Kind: tasks.RepoPath, Dir: s.repo}, Matrix: map[string]string{}, Prompt: "Go.", Agent: "build",
		Model: "script:x", ModelName: "script:x", Profile: profile, Attempts: 1, Commit: &tasks.Commit{Branch: "millhand/" + id},
	}
}

// far creates a job on a remote repository.
func (s *stage) far(id, url string) tasks.Job {
	j := s.job(id)
	j.Repo = tasks.Repo{Name: "far", Kind: tasks.RepoURL, URL: url}
	return j
}

// look runs a preflight of jobs and returns its refusals by job.
func (s *stage) look(look Options, plan *tasks.Plan, jobs ...tasks.Job) (*Result, map[string]event.Code) {
	s.t.Helper()
	plan.Jobs = jobs
	look.Git = s.git
	if look.Mirrors == "" {
		look.Mirrors = s.mirrors
	}
	ready, err := Check(s.t.Context(), plan, look)
	codes := map[string]event.Code{}
	for _, r := range Refusals(err) {
		codes[r.Job] = r.Code
	}
	return ready, codes
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

// writeFile writes a file, and its directory.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func codeOf(s *ending.Stop) event.Code {
	if s == nil {
		return ""
	}
	return s.Code
}
