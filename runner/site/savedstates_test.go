package site

import (
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

// resumed makes the run one that continues after events of earlier processes.
func (s *stage) resumed(do history.Order, events ...event.Event) {
	s.t.Helper()
	past := &history.Past{}
	for _, e := range append([]event.Event{{Type: event.RunStarted, Run: &event.Run{}}}, events...) {
		if err := past.Emit(e); err != nil {
			s.t.Fatal(err)
		}
	}
	var err error
	if s.opts.History, err = history.Decide(past, do); err != nil {
		s.t.Fatal(err)
	}
}

// ownTree prepares a job in the stage's own tree, which may be dirty.
func (s *stage) ownTree() *Site {
	s.t.Helper()
	spec := s.job("a")
	spec.Commit = nil
	return s.prepared(s.begin(&tasks.Plan{AllowDirty: true}, spec))
}

// A tree that is as its commit needs no copy of its files; another one has one in the report directory.
func TestTheStateOfTheOwnTreeIsSaved(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"a": "one\n"})
	committed := git(t, s.repo, "rev-parse", "HEAD^{tree}")
	p := s.ownTree()
	want(t, "clean", committed, p.Initial)
	if p.Before != p.Committed || p.ComparedWith() != p.Committed {
		t.Error("a clean tree has a state of its own")
	}
	s.release(p)
	writeFile(t, filepath.Join(s.repo, "users"), "x\n")
	p = s.ownTree()
	if want(t, "dirty", []string{"users"}, p.Dirty); p.Initial == committed || !p.Saved().Has(p.Initial) {
		t.Errorf("the state %s is not saved", p.Initial)
	}
	want(t, "changes", nil, changed(t, p))
}

// A job that is resumed is compared with the state from its start, not with what its agent left.
func TestAResumedJobIsComparedWithItsStart(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"a": "one\n"})
	writeFile(t, filepath.Join(s.repo, "users"), "x\n")
	p := s.ownTree()
	start := event.JobStart{Base: p.Base, Tree: p.Initial}
	s.release(p)
	writeFile(t, filepath.Join(s.repo, "a"), "of the agent\n")
	s.resumed(history.Order{Do: history.Resume{}}, event.Event{Type: event.JobStarted, Job: "a", JobStart: &start})
	p = s.ownTree()
	want(t, "state", start.Tree, p.Initial)
	want(t, "dirty at the start", []string{"users"}, p.Dirty)
	want(t, "changes", []string{"a"}, changed(t, p))
	if p.Committed == nil {
		t.Error("the state of the base is unknown")
	}
	s.release(p)
	start.Tree = strings.Repeat("0", 40)
	spec := s.job("a")
	spec.Commit = nil
	s.resumed(history.Order{Do: history.Resume{}}, event.Event{Type: event.JobStarted, Job: "a", JobStart: &start})
	p, end := s.begin(&tasks.Plan{AllowDirty: true}, spec).OpenSite(t.Context())
	if end != nil {
		t.Fatalf("%+v", *end)
	}
	defer p.Release(t.Context(), false)
	stopped(t, "a state that is lost", p.Confine(t.Context()), event.CodeRepository, "prepare the workspace: ")
}

// States are in the report directory, without files that hold secrets.
func TestSavedStatesHaveNoFilesWithSecrets(t *testing.T) {
	s := setUp(t)
	s.opts.Redact = redact.New([]string{"held-by-millhand-1234"})
	p := s.prepared(s.begin(&tasks.Plan{}, s.job("a")))
	writeFile(t, filepath.Join(p.Space.Dir(), "new"), "x\n")
	writeFile(t, filepath.Join(p.Space.Dir(), "secret"), "held-by-millhand-1234\n")
	saved, err := p.Save(t.Context())
	if err != nil || !p.Saved().Has(saved.Tree) {
		t.Fatalf("%+v, %v", saved, err)
	}
	all, paths, err := p.Saved().Snapshot(saved.Tree, p.Base)
	if want(t, "changed", []string{"new"}, paths); err != nil || all == nil {
		t.Error(err)
	}
	s = setUp(t)
	p = s.prepared(s.begin(&tasks.Plan{}, s.job("a")))
	writeFile(t, filepath.Join(s.opts.Dir.Path(), path.Dir(savedsession.States)), "in the way")
	if saved, err := p.Save(t.Context()); err == nil || saved.Tree != "" {
		t.Errorf("without a directory: %+v, %v", saved, err)
	}
}

// The user may have changed a file after a kill: what the restored state replaces is copied and reported.
func TestReplacedFilesAreCopied(t *testing.T) {
	s := setUp(t)
	s.commit(map[string]string{"web/a": "one\n", "web/b": "one\n", "web/c": "one\n", "web/d": "one\n"})
	spec := s.job("a")
	spec.Commit, spec.Repo.Dir = nil, filepath.Join(s.repo, "web")
	p := s.prepared(s.begin(&tasks.Plan{}, spec))
	if err := p.KeepReplaced(t.Context(), p.Initial); err != nil || s.warnings() != "" {
		t.Errorf("nothing is replaced: %v; %s", err, s.warnings())
	}
	writeFile(t, filepath.Join(s.repo, "web", "a"), "two\n")
	git(t, s.repo, "rm", "-q", "web/c", "web/d")
	if err := syscall.Mkfifo(filepath.Join(s.repo, "web", "d"), 0o600); err != nil { // somebody may never write to it
		t.Fatal(err)
	}
	if err := p.KeepReplaced(t.Context(), p.Initial); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.opts.Dir.Path(), "replaced", "a")
	want(t, "copy", "two\n", read(t, filepath.Join(dir, "web", "a")))
	if exists(filepath.Join(dir, "web", "b")) || exists(filepath.Join(dir, "web", "c")) || !strings.HasPrefix(s.warnings(), "restored the state of the last complete turn: web/a, web/c, web/d; the replaced files are in "+dir) {
		t.Errorf("warnings: %s", s.warnings())
	}
}
