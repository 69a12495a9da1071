package agent

import (
	"context"
	"errors"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/site"
)

// applyRebase applies the job's changes to a worktree of the new base. Conflicts stay in its files.
func applyRebase(ctx context.Context, r preflight.Rebase, s *site.Site) error {
	if r.Commit == "" {
		return nil
	}
	err := gitops.Merge(ctx, s.Tree, s.Base, r.Before, r.Commit)
	if errors.Is(err, gitops.ErrMerge) {
		return nil
	}
	return err
}

// rebasedAfter reports whether the saved states of a job's worktree are older than its base.
func rebasedAfter(j *Job, from *continuation) bool {
	saved := 0
	if from != nil {
		for _, t := range from.state.Turns {
			if t.Tree != "" {
				saved = t.Number
			}
		}
	}
	return j.Start.Onto.Commit != "" && saved <= j.Start.Onto.Turn || j.History.Facts != nil && j.History.Rebased > 0 && saved <= j.History.Rebased
}
