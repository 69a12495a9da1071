package agent

import (
	"context"
	"path"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/trials"
	"github.com/millhand/millhand/tasks"
)

// outOfScope returns the limits of the task's change that the job's changes exceed.
func (w *work) outOfScope(ctx context.Context) ([]landing.Excess, *ending.Stop) {
	if w.job.Spec.Change.IsZero() {
		return nil, nil
	}
	f, err := foundBy(ctx, w)
	if err != nil {
		return nil, ending.OfGit(ctx, "find the job's changes", err)
	}
	over, err := landing.Excesses(ctx, w.site.Tree, w.site.Below, w.job.Spec.Change, f.Changes)
	if err != nil {
		return nil, ending.OfGit(ctx, "compare the job's changes with the limits of change", err)
	}
	return over, nil
}

// unneeded accounts for the hunks of the job's changes if its task has ablate, and returns the account if it has
// something that the task's change.unneeded returns to the agent; nil otherwise.
func (w *work) unneeded(ctx context.Context) (*event.Hunks, *ending.Stop) {
	spec := w.job.Spec
	if spec.Ablate.Time == 0 {
		return nil, nil
	}
	f, err := foundBy(ctx, w)
	if err != nil {
		return nil, ending.OfGit(ctx, "find the job's changes", err)
	}
	hunks, end := trials.Account(ctx, w.site, w.job.Job, f.Changes, w.trials)
	w.result.Hunks = hunks
	if end != nil || hunks == nil || len(hunks.UnneededHunks())+len(hunks.Passing()) == 0 {
		return nil, end
	}
	switch spec.Ablate.Unneeded {
	case tasks.UnneededWarn:
		w.job.Warn(trials.Text(hunks))
	case tasks.UnneededFail:
		return hunks, nil
	}
	return nil, nil
}

// barred returns the denials of what was changed in the workspace since the job started,
// and the paths that git would not commit, if there is a commit.
func (w *work) barred(ctx context.Context, p permission.Profile) ([]permission.Decision, []state.Refusal, *ending.Stop) {
	e := landing.Edits{Profile: p, Root: w.site.Tree.Root(), Below: w.site.Below}
	commits := w.job.Spec.Commit != nil
	if !commits && !p.BarsAny() {
		return nil, nil, nil
	}
	f, err := foundBy(ctx, w)
	if err != nil {
		return nil, nil, ending.OfGit(ctx, "find the paths that the job changed", err)
	}
	var refused []state.Refusal
	if commits {
		refused = f.Changes.Refused
	}
	if !p.BarsAny() {
		return nil, refused, nil
	}
	changed, err := w.site.Diff.Paths(ctx, f)
	if err != nil {
		return nil, nil, ending.OfGit(ctx, "find the paths that the job changed", err)
	}
	return e.Barred(changed), refused, nil
}

// returned lets the tools of a session undo denied changes, and make a nested repository a directory.
func (f faults) returned(p permission.Profile, below string) permission.Profile {
	var files, nested []string
	for _, d := range f.barred {
		files = append(files, path.Clean(d.Request.Subject()))
	}
	for _, r := range f.refused {
		if r.Reason == state.NestedRepository {
			nested = append(nested, strings.TrimPrefix(strings.TrimPrefix(r.Path, below), "/"))
		}
	}
	return p.Returned(files, nested)
}

// feedback returns the prompt of the attempt after one with faults. Complete outputs are in a
// report directory.
func (f faults) feedback(reports *files.Dir) string {
	var b strings.Builder
	if len(f.barred) > 0 {
		b.WriteString(landing.Undo(f.barred) + "\n")
	}
	if len(f.over) > 0 {
		b.WriteString(landing.Reduce(f.over) + "\n")
	}
	if len(f.refused) > 0 {
		b.WriteString(landing.Uncommittable(f.refused) + "\n")
	}
	if len(f.marked) > 0 {
		b.WriteString("Conflict markers are left in " + textcut.List(f.marked) + ". Resolve the conflicts, and finish again.\n")
	}
	if f.hunks != nil {
		b.WriteString(trials.Feedback(f.hunks))
	}
	if len(f.failed) == 0 {
		return b.String()
	}
	b.WriteString(commands.Feedback(f.failed, reports))
	return b.String()
}
