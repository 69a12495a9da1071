package delivery

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

func TestAChangeThatARuleDeniesIsNotCommitted(t *testing.T) {
	s := setUp(t)
	d := s.delivery(&tasks.Plan{}, protecting(s.job("a"), "*.lock"), map[string]string{"go.lock": "x\n", "main": "y\n"})
	end := d.FindChanges(t.Context())
	if end == nil || end.Code != event.CodeProtected || end.Outcome() != event.Policy || !strings.Contains(end.Detail, `go.lock, by rule edit: {"*.lock": deny} (m.yaml:7, which limits profile build)`) {
		t.Fatalf("%+v", end)
	}
	if text := d.patchText(t); !strings.Contains(text, "+++ b/go.lock") || !strings.Contains(text, "+++ b/main") {
		t.Errorf("the patch is\n%s", text)
	}
	d = s.delivery(&tasks.Plan{}, s.job("b"), map[string]string{"main": "y\n"})
	writeFile(t, filepath.Join(d.Site.Space.Dir(), ".gitmodules"), "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n\tupdate = !CMD\n")
	if end := d.FindChanges(t.Context()); end == nil || end.Code != event.CodeProtected {
		t.Errorf("%+v", end)
	}
}

// A rule also holds for a file that git ignores, if nothing else was changed.
func TestARuleDeniesAnIgnoredFile(t *testing.T) {
	s := setUp(t)
	writeFile(t, filepath.Join(s.repo, ".git", "info", "exclude"), "*.env\n")
	spec := protecting(s.job("a"), "*.env")
	spec.Commit = nil
	d := s.delivery(&tasks.Plan{}, spec, nil)
	if end := d.Site.BeforeAgent(t.Context()); end != nil {
		t.Fatalf("%+v", end)
	}
	writeFile(t, filepath.Join(s.repo, "prod.env"), "x\n")
	if end := d.FindChanges(t.Context()); end == nil || end.Code != event.CodeProtected || !strings.Contains(end.Detail, "prod.env, by rule") {
		t.Errorf("%+v", end)
	}
}

// protecting returns a job with protected paths.
func protecting(j tasks.Job, globs ...string) tasks.Job {
	for _, g := range globs {
		j.Protect = append(j.Protect, permission.Protect(g, "m.yaml:7"))
	}
	j.Profile = j.Profile.Narrowed("commit.protect", j.Protect)
	return j
}
