package agent

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/changes"
)

// checkpoint returns the function that saves the worktree after a turn of a session. The calls of a child belong to a
// call of the job's own session: its turns are complete without a state. While several children run, none is saved, and a fault is reported
// by the save after the turn of the job's own session.
func (w *work) checkpoint(s sessionSpec) func(context.Context) (tree string, complete bool) {
	if s.parent != "" {
		return func(ctx context.Context) (string, bool) {
			if w.sessions.running.Load() > 1 {
				return "", true
			}
			saved, _ := w.site.Save(ctx) // as described
			return saved.Tree, true
		}
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

func (s *saver) save(ctx context.Context) (tree string, complete bool) {
	w := s.work
	saved, err := s.changed(ctx)
	if err != nil {
		w.tree.Touch() // the next one searches again
		if !w.unsaved {
			w.unsaved = true
			w.job.Warn(fmt.Sprintf("%v; if the run is killed now, the job is resumed from an earlier turn", err))
		}
		return "", false
	}
	s.last = saved
	return saved.Tree, true
}

// changed saves the state after a turn. It does not search the worktree if nothing but files
// that built-in tools wrote can have changed since the last state, which is the base at first.
func (s *saver) changed(ctx context.Context) (state.Saved, error) {
	w := s.work
	files, only := w.tree.Written()
	w.site.Diff.Written(files)
	if !only || !w.extensions.none() {
		s.ran = true
		return w.site.Save(ctx)
	}
	store, err := w.site.OpenStore()
	if err == nil && s.last.Tree == "" {
		s.last, err = s.start()
	}
	if err != nil {
		return state.Saved{}, err
	}
	return store.SaveFiles(ctx, w.site.ComparedWith(), w.site.Base, s.last, files)
}

// start returns the state before the first turn. That of a worktree, and of the user's own tree if that was clean, is
// exactly the base.
func (s *saver) start() (state.Saved, error) {
	site := s.work.site
	tree, err := site.Tree.RootTree(site.Base)
	if s.work.job.OnlyCalls() && (site.Linked() || site.Before == site.Committed && site.Initial == tree) {
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
	if !known || len(w.job.Plan.Tools) > 0 || !w.tree.Unchanged() || w.site.Before != w.site.ComparedWith() {
		return nil
	}
	changes, err := w.site.Saved().Changes(ctx, s.last)
	if err != nil || changes == nil {
		return nil // the search will report it
	}
	return w.site.Diff.FoundIn(changes, s.last.Left)
}

// noteFound notes what the job has changed if that is known without a search. If its sessions made no call
// and nothing else runs in it, that is nothing: what differs from the start was changed by
// somebody else meanwhile, in the user's own tree by the user, and is not the job's.
func noteFound(ctx context.Context, w *work) {
	if !w.job.OnlyCalls() || !w.extensions.none() {
		return
	}
	if w.sessions.totals().Calls == 0 {
		w.site.Diff.Keep(&changes.Found{Changes: &state.ChangeSet{}})
	} else if f := w.saver.found(ctx); f != nil {
		w.site.Diff.Keep(f)
	}
}
