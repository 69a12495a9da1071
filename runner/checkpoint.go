package runner

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/savedsession"
)

// checkpoint returns the function that saves the worktree after a turn of a session; nil
// for child sessions, whose calls belong to a call of the job's own session.
func (w *work) checkpoint(s sessionSpec) func(context.Context) string {
	if s.parent != "" {
		return nil
	}
	w.saver = &saver{work: w}
	return w.saver.save
}

// saver saves the states of a worktree after the turns of a session.
type saver struct {
	work *work
	last state.Saved
	ran  bool // something else than built-in tools may have changed files
}

func (s *saver) save(ctx context.Context) string {
	w := s.work
	saved, err := s.changed(ctx)
	if err != nil {
		w.tree.Touch() // the next one searches again
		if !w.unsaved {
			w.unsaved = true
			w.job.warn(fmt.Sprintf("%v; if the run is killed now, the job is resumed from an earlier turn", err))
		}
		return ""
	}
	s.last = saved
	return saved.Tree
}

// changed saves the state after a turn. It does not search the worktree if nothing but files
// that built-in tools wrote can have changed since the last state, which is the base at first.
func (s *saver) changed(ctx context.Context) (state.Saved, error) {
	w := s.work
	files, only := w.tree.Written()
	w.site.diff.Written(files)
	if !only || !alone(w) {
		s.ran = true
		return w.site.save(ctx, w.job.opts)
	}
	store, err := w.site.openStore(w.job.opts)
	if err == nil && s.last.Tree == "" {
		s.last, err = s.start()
	}
	if err != nil {
		return state.Saved{}, err
	}
	return store.SaveFiles(ctx, w.site.ComparedWith(), w.site.base, s.last, files)
}

// start returns the state before the first turn. That of a worktree, and of the user's own tree if that was clean, is
// exactly the base.
func (s *saver) start() (state.Saved, error) {
	site := s.work.site
	tree, err := site.Tree.RootTree(site.base)
	if (early{s.work.job}).onlyCalls() && (site.linked() || site.Before == site.Committed && site.initial == tree) {
		return state.AtBase(tree, site.ComparedWith()), err
	}
	return state.Saved{Tree: tree}, err
}

// found returns what the job has changed, as the last search before a state was saved found it, or without one if only
// built-in tools wrote files; nil if that is not known, or if files can have changed since. The processes of a command at level A
// end with it. What changes later in the user's own tree was changed by the user. Custom tools can claim to be read-only.
func (s *saver) found(ctx context.Context) *changes.Found {
	w := s.work
	known := !s.ran || w.job.opts.Level == sandbox.Full
	if !known || len(w.job.plan.Tools) > 0 || !w.tree.Unchanged() || w.site.Before != w.site.ComparedWith() {
		return nil
	}
	changes, err := w.site.saved(w.job.opts).Changes(ctx, s.last)
	if err != nil || changes == nil {
		return nil // the search will report it
	}
	return w.site.diff.FoundIn(changes, s.last.Left)
}

// alone reports whether only calls and commands of a job can change its files: it has no extensions,
// language servers and hooks.
func alone(w *work) bool { return w.extensions == nil && w.languages == nil && w.site.hooks == nil }

// saved returns the states of the worktree that are saved in the report directory.
func (s *site) saved(o *Options) state.Checkpoints {
	return state.Checkpoints{
		Reader: s.Tree.Reader, Store: filepath.Join(o.Dir.Path(), filepath.FromSlash(savedsession.States)),
		LeftOut: s.InPlace,
		Secret:  func(content []byte) bool { return o.Redact.Held(string(content)) != string(content) },
	}
}

// save saves the state of the worktree.
func (s *site) save(ctx context.Context, o *Options) (state.Saved, error) {
	store, err := s.openStore(o)
	if err != nil {
		return state.Saved{}, err
	}
	return store.Save(ctx, s.ComparedWith(), s.base)
}

// openStore returns the states that are saved, with their directory.
func (s *site) openStore(o *Options) (state.Checkpoints, error) {
	for _, dir := range []string{path.Dir(savedsession.States), savedsession.States} {
		if err := o.Dir.Mkdir(dir); err != nil {
			return state.Checkpoints{}, err
		}
	}
	return s.saved(o), nil
}

// freshStatus is how long the tree counts as it was when the preflight found it clean: the first
// job of a run starts some milliseconds later, and does not walk the tree again.
const freshStatus = time.Second

// snapshotOwn sets the state that the changes of a job without a worktree are compared
// with, and saves it: a job that is resumed continues to be compared with it.
func (s *site) snapshotOwn(ctx context.Context, j *job) (tree string, err error) {
	past := j.history.Facts
	if err := s.readCommitted(); err != nil {
		return "", err
	}
	if past != nil && past.Start != nil && past.Start.Tree != "" && past.Start.Base == s.base {
		all, changed, err := s.saved(j.opts).Snapshot(past.Start.Tree, s.base)
		if err != nil {
			return "", err
		}
		s.Before = all.Below(s.below)
		if len(s.dirty) > 0 {
			s.dirty = changed
		}
		return past.Start.Tree, nil
	}
	if tree, err = s.foundClean(j); err != nil || tree != "" {
		return tree, err
	}
	all, left, err := s.Tree.SnapshotAndLeftOut(ctx)
	if err != nil {
		return "", err
	}
	if s.Before = all.Below(s.below); s.below == "" {
		s.Ignored = left
	}
	if s.Before.Equal(s.Committed) {
		if s.Before.Complete() {
			s.Before = s.Committed
		}
		return s.Tree.RootTree(s.base)
	}
	saved, err := s.save(ctx, j.opts)
	return saved.Tree, err
}

// readCommitted sets the state of the base in the directory that the job changes.
func (s *site) readCommitted() error {
	committed, err := s.origin.SnapshotOf(s.base)
	if err == nil {
		s.Committed = committed.Below(s.below)
	}
	return err
}

// foundClean sets the state that changes are compared with to that of the base, and returns its
// tree, if the preflight has just found the job's own tree so; "" if not.
func (s *site) foundClean(j *job) (tree string, err error) {
	clean := j.start.Clean
	if !s.first || s.base == "" || clean.Commit != s.base || j.opts.Now().Sub(clean.At) >= freshStatus {
		return "", nil
	}
	if err := s.readCommitted(); err != nil {
		return "", err
	}
	if s.Before = s.Committed; s.below == "" {
		s.Ignored = clean.Left
	}
	return s.Tree.RootTree(s.base)
}
