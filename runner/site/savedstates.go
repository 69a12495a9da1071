package site

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/savedsession"
)

// Saved returns the states of the worktree that are saved in the report directory.
func (w *Workdir) Saved() state.Checkpoints {
	o := w.job.opts
	return state.Checkpoints{
		Reader: w.Tree.Reader, Store: filepath.Join(o.Dir.Path(), filepath.FromSlash(savedsession.States)),
		LeftOut: w.InPlace, Redact: o.Redact,
	}
}

// Save saves the state of the worktree.
func (w *Workdir) Save(ctx context.Context) (state.Saved, error) {
	store, err := w.OpenStore()
	if err != nil {
		return state.Saved{}, err
	}
	return store.Save(ctx, w.ComparedWith(), w.Base)
}

// OpenStore returns the states that are saved, with their directory.
func (w *Workdir) OpenStore() (state.Checkpoints, error) {
	for _, dir := range []string{path.Dir(savedsession.States), savedsession.States} {
		if err := w.job.opts.Dir.Mkdir(dir); err != nil {
			return state.Checkpoints{}, err
		}
	}
	return w.Saved(), nil
}

// freshStatus is how long the tree counts as it was when the preflight found it clean: the first
// job of a run starts some milliseconds later, and does not walk the tree again.
const freshStatus = time.Second

// snapshotOwn sets the state that the changes of a job without a worktree are compared
// with, and saves it: a job that is resumed continues to be compared with it.
func (s *Site) snapshotOwn(ctx context.Context) (tree string, err error) {
	past := s.job.History.Facts
	if err := s.readCommitted(); err != nil {
		return "", err
	}
	if past != nil && past.Start != nil && past.Start.Tree != "" && past.Start.Base == s.Base {
		all, changed, err := s.Saved().Snapshot(past.Start.Tree, s.Base)
		if err != nil {
			return "", err
		}
		s.Before = all.Below(s.Below)
		if len(s.Dirty) > 0 {
			s.Dirty = changed
		}
		return past.Start.Tree, nil
	}
	if tree, err = s.foundClean(); err != nil || tree != "" {
		return tree, err
	}
	all, left, err := s.Tree.SnapshotAndLeftOut(ctx)
	if err != nil {
		return "", err
	}
	if s.Before = all.Below(s.Below); s.Below == "" {
		s.Ignored = left
	}
	if s.Before.Equal(s.Committed) {
		if s.Before.Complete() {
			s.Before = s.Committed
		}
		return s.Tree.RootTree(s.Base)
	}
	saved, err := s.Save(ctx)
	return saved.Tree, err
}

// readCommitted sets the state of the base in the directory that the job changes.
func (w *Workdir) readCommitted() error {
	committed, err := w.Origin.SnapshotOf(w.Base)
	if err == nil {
		w.Committed = committed.Below(w.Below)
	}
	return err
}

// foundClean sets the state that changes are compared with to that of the base, and returns its
// tree, if the preflight has just found the job's own tree so; "" if not.
func (s *Site) foundClean() (tree string, err error) {
	j := s.job
	clean := j.Start.Clean
	if !s.firstInTree || s.Base == "" || clean.Commit != s.Base || j.opts.Now().Sub(clean.At) >= freshStatus {
		return "", nil
	}
	if err := s.readCommitted(); err != nil {
		return "", err
	}
	if s.Before = s.Committed; s.Below == "" {
		s.Ignored = clean.Left
	}
	return s.Tree.RootTree(s.Base)
}

// KeepReplaced copies files of a tree that is changed without a worktree to the report directory,
// if restoring a state replaces them: the user may have changed them after the kill.
func (w *Workdir) KeepReplaced(ctx context.Context, tree string) error {
	j := w.job
	paths, err := w.Saved().Replaced(ctx, tree, w.Below)
	if err != nil || len(paths) == 0 {
		return err
	}
	dir := path.Join("replaced", j.Spec.ID)
	for _, name := range paths {
		f, err := files.OpenIn(w.Space.Dir(), strings.TrimPrefix(strings.TrimPrefix(name, w.Below), "/"))
		if err != nil {
			continue // removed, or not a regular file
		}
		err = j.opts.Dir.WriteAtomic(path.Join(dir, name), func(out io.Writer) error {
			_, err := io.Copy(out, f)
			return err
		})
		f.Close()
		if err != nil {
			return fmt.Errorf("copy %s before it is restored: %w", name, err)
		}
	}
	j.Warn(fmt.Sprintf("restored the state of the last complete turn: %s; the replaced files are in %s", textcut.List(paths), filepath.Join(j.opts.Dir.Path(), filepath.FromSlash(dir))))
	return nil
}
