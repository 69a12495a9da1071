package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/delivery"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// Reverted is the result of [Revert].
type Reverted struct {
	Job      string   `json:"job"`
	Turn     int      `json:"turn"`
	Files    []string `json:"files"`    // that were changed on the branch or in the working tree, relative to the repository's root
	Branch   string   `json:"branch"`   // that the commit is on; "" if nothing is committed
	Commit   string   `json:"commit"`   // that was added; "" if nothing was
	Previous string   `json:"previous"` // commit of the branch before; "" without one
	Replaced string   `json:"replaced"` // directory with copies of files of the working tree that were replaced; "" for none
	Pushed   string   `json:"pushed"`   // remote that has the previous commit; "" for none
}

// Revert gives the branch or the working tree of a job the state that [savedsession.RevertTo] has
// found. It calls no model. The events are those of a run that is resumed and ended as
// before.
func Revert(ctx context.Context, plan *tasks.Plan, o Options) (Reverted, error) {
	r := newRun(plan, o)
	at := slices.IndexFunc(plan.Jobs, func(j tasks.Job) bool { return j.ID == o.History.Only() })
	if at < 0 {
		return Reverted{}, fmt.Errorf("job %s is not in the plan", o.History.Only())
	}
	j := r.job(plan.Jobs[at])
	to, reverts := j.History.Intent.(history.Revert)
	if !reverts {
		return Reverted{}, fmt.Errorf("job %s is not reverted", j.Spec.ID)
	}
	r.opts.Emit(event.Event{Type: event.RunStarted, Run: Describe(r.Plan, r.opts)})
	done, err := reverting{j, to}.run(ctx)
	r.Close(ctx)
	if ended := o.History.Past.Ending; ended != nil {
		r.opts.Emit(event.Event{Type: event.RunEnded, RunEnd: ended})
	}
	return done, errors.Join(err, r.broken())
}

// reverting is a job that is reverted.
type reverting struct {
	job *job
	to  history.Revert
}

// run restores the files, and commits them if the job has a commit.
func (v reverting) run(ctx context.Context) (Reverted, error) {
	j := v.job
	done := Reverted{Job: j.Spec.ID, Turn: v.to.Turn, Files: []string{}}
	happened := event.Revert{Turn: v.to.Turn}
	session := j.SessionID(j.Spec.ID)
	j.Emit(event.Event{Type: event.RevertStarted, Session: session, Revert: &event.Revert{Turn: v.to.Turn}})
	if c := j.History.Commit; c != nil {
		done.Branch, done.Previous, done.Pushed = c.Branch, c.Hash, j.History.Published.Remote
	}
	if j.Spec.Repo.Kind == tasks.RepoCopy && j.History.Commit != nil {
		j.StartAt(j.History.First, j.History.Commit.Hash)
	}
	if j.Spec.Repo.Kind != tasks.RepoURL { // the branch is on its server: the next prompt changes it
		if err := v.files(ctx, &done); err != nil {
			return done, err
		}
	}
	happened.Commit = done.Commit
	j.Emit(event.Event{Type: event.Reverted, Session: session, Revert: &happened})
	return done, nil
}

// files reverts a job on this machine.
func (v reverting) files(ctx context.Context, done *Reverted) error {
	j := v.job
	j.Undo(fmt.Sprintf("%s: revert to turn %d", j.Spec.Task, done.Turn))
	s, end := j.OpenSite(ctx)
	if end != nil {
		return errors.New(end.Detail)
	}
	defer s.Release(context.WithoutCancel(ctx), false)
	if end := s.Confine(ctx); end != nil {
		return errors.New(end.Detail)
	}
	if !s.Linked() && j.Start.Tip != "" {
		return v.checkedOut(ctx, s, done)
	}
	tree, err := v.tree(s)
	if err != nil {
		return err
	}
	if !s.Linked() {
		if done.Files, err = s.Saved().Replaced(ctx, tree, s.Below); err != nil {
			return err
		}
		if err := s.KeepReplaced(ctx, tree); err != nil {
			return err
		}
		if dir := path.Join("replaced", j.Spec.ID); len(done.Files) > 0 && j.opts.Dir.Exists(dir) {
			done.Replaced = dir
		}
	}
	if err := s.Saved().Restore(ctx, tree, s.Below); err != nil {
		return err
	}
	return v.land(ctx, s, done)
}

// tree returns the state to restore. It is an error if it is missing.
func (v reverting) tree(s *site.Site) (string, error) {
	j := v.job
	tree := v.to.Tree
	if tree == "" {
		return s.Tree.RootTree(cmp.Or(j.Start.Base, s.Base))
	}
	if !s.Saved().Has(tree) {
		return "", fmt.Errorf("the files of turn %d can't be restored: objects of their saved state are missing", v.to.Turn)
	}
	return tree, nil
}

// land saves the changes of the job up to the turn as its patch, and commits the
// difference to the job's commit on its branch.
func (v reverting) land(ctx context.Context, s *site.Site, done *Reverted) error {
	j := v.job
	d := &delivery.Delivery{Work: j.left(s)}
	end := s.Diff.Recall(ctx, j.History.Facts)
	if end == nil {
		end = d.FindChanges(ctx)
	}
	if d.Changes == nil {
		return errors.New(end.Detail)
	}
	if d.Patch == "" && end == nil {
		j.opts.Dir.Remove(path.Join("patches", j.Spec.ID+".patch")) //nolint:errcheck // missing if the job had changed nothing
	}
	if j.Start.Tip == "" {
		return nil // nothing is committed: what can't be is only the files of the next prompt
	}
	if end != nil {
		return fmt.Errorf("the files of turn %d can't be committed: %s", done.Turn, end.Detail)
	}
	before, err := s.Tree.SnapshotOf(j.Start.Tip)
	if err != nil {
		return err
	}
	all, err := s.Tree.Changes(ctx, before.Below(s.Below))
	if err != nil {
		return err
	}
	d.Changes = all.Only(func(path string) bool {
		return !slices.ContainsFunc(d.LeftOut, func(f changes.LeftOut) bool { return f.Path == path })
	})
	for _, c := range d.Changes.Changes {
		done.Files = append(done.Files, c.Path)
	}
	if len(d.Changes.Changes)+len(d.Changes.Refused) == 0 {
		return nil
	}
	s.Base = j.Start.Tip
	if err := d.Record(ctx, j.Message(j.Start.Tip, "", v.unfinished())); err != nil {
		return err
	}
	done.Commit = d.Made.Hash
	return nil
}

// unfinished returns the outcome of a job whose commit is work in progress; "" for others.
func (v reverting) unfinished() event.Outcome {
	j := v.job
	if j.History.End.Outcome == event.Limit || j.History.End.Outcome == event.Budget {
		return j.History.End.Outcome
	}
	return ""
}

// checkedOut reverts a clean working tree that has the job's branch checked out. If the
// state can't be committed, the tree is as before.
func (v reverting) checkedOut(ctx context.Context, s *site.Site, done *Reverted) error {
	j := v.job
	base, err := s.Tree.SnapshotOf(j.Start.Base)
	if err != nil {
		return err
	}
	before, err := s.Tree.RootTree(j.Start.Tip)
	if err != nil {
		return err
	}
	tree, err := v.tree(s)
	if err != nil {
		return err
	}
	s.Before = base.Below(s.Below)
	if err = s.Saved().Restore(ctx, tree, s.Below); err == nil {
		err = v.land(ctx, s, done)
	}
	if err != nil {
		err = errors.Join(err, s.Saved().Restore(context.WithoutCancel(ctx), before, s.Below))
	}
	return err
}
