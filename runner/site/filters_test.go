package site

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tasks"
)

// cleaned configures a filter of the user.
func (s *stage) cleaned(command string) {
	s.t.Helper()
	s.opts.Git.Home = s.t.TempDir()
	writeFile(s.t, filepath.Join(s.opts.Git.Home, ".gitconfig"), "[filter \"up\"]\n\tclean = "+command+"\n")
}

// Filters get the sandbox of the job's commands, and nothing of the context: changes are collected whatever happens.
func TestFiltersRunInTheSandbox(t *testing.T) {
	s := setUp(t)
	s.cleaned("tr a-z A-Z")
	s.commit(map[string]string{".gitattributes": "*.up filter=up\n", "old.up": "old\n"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, end := s.opened(ctx, s.begin(&tasks.Plan{}, s.job("a")))
	if end != nil || p.OpenedBeside() || p.Sandboxes.Own == nil {
		t.Fatalf("%+v", end)
	}
	cancel()
	writeFile(t, filepath.Join(p.Space.Dir(), "old.up"), "OLD\n")
	writeFile(t, filepath.Join(p.Space.Dir(), "new.up"), "new\n")
	f, err := p.Diff.Find(t.Context())
	if err != nil || len(f.Changes.Changes) != 2 {
		t.Fatalf("%+v, %v", f, err)
	}
	patch, err := p.Tree.Patch(t.Context(), f.Changes)
	if err != nil || !strings.Contains(string(patch), "\n+OLD\n") || !strings.Contains(string(patch), "\n+NEW\n") {
		t.Errorf("%v:\n%s", err, patch)
	}
	filters := p.Sandboxes.filters(ctx)
	if filters.Command.Dir != p.Space.Dir() || proc.Value(filters.Command.Env, "TMPDIR") != proc.Value(p.Sandboxes.Own.Env, "TMPDIR") || filters.Pushed {
		t.Errorf("%+v", filters)
	}
	if p.job.Spec.Publish = tasks.PublishPush; !p.Sandboxes.filters(ctx).Pushed {
		t.Error("a job that is pushed is not")
	}
}

// A filter never runs outside of the job's sandbox.
func TestFiltersNeedTheSandbox(t *testing.T) {
	s := setUp(t)
	s.cleaned("tr a-z A-Z")
	writeFile(t, filepath.Join(s.opts.Work, "home"), "in the way")
	if _, end := s.opened(t.Context(), s.begin(&tasks.Plan{}, s.job("a"))); end == nil || !strings.Contains(end.Detail, "create a private directory") {
		t.Errorf("%+v", end)
	}
}
