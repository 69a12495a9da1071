package agent

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/runner/ending"
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

// maxMarked is the maximum size of a file that is searched for conflict markers, in bytes.
const maxMarked = 4 << 20

// conflicts returns the files in which a job that is rebased has left conflict markers.
func (w *work) conflicts(ctx context.Context) (marked []string, end *ending.Stop) {
	if w.job.Start.Onto.Commit == "" {
		return nil, nil
	}
	paths, _, err := w.site.Tree.ChangedPaths(ctx, w.site.Before)
	if err != nil {
		return nil, w.job.NotVerified(ctx, err)
	}
	for _, path := range paths {
		data, err := w.site.Space.Root().ReadFile(strings.TrimPrefix(strings.TrimPrefix(path, w.site.Below), "/"))
		if err != nil || len(data) > maxMarked {
			continue // removed
		}
		data = append([]byte("\n"), data...)
		if bytes.Contains(data, []byte("\n<<<<<<< ")) && bytes.Contains(data, []byte("\n>>>>>>> ")) {
			marked = append(marked, path)
		}
	}
	return marked, nil
}
