package runner

import (
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// token has the form of a service's key.
const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

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

func codeOf(s *ending.Stop) event.Code {
	if s == nil {
		return ""
	}
	return s.Code
}

// protecting returns a job with protected paths.
func protecting(j tasks.Job, globs ...string) tasks.Job {
	for _, g := range globs {
		j.Protect = append(j.Protect, permission.Protect(g, "m.yaml:7"))
	}
	j.Profile = j.Profile.Narrowed("commit.protect", j.Protect)
	return j
}
