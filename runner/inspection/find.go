package inspection

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/runner/changes"
	"github.com/millhand/millhand/runner/commands"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/landing"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/runner/trials"
	"github.com/millhand/millhand/tasks"
)

// Of is what is inspected: the changes of a job in its site.
type Of struct {
	Job    *site.Job
	Site   *site.Site
	Trials trials.Results // of earlier attempts, to which those of this one are added
	// Alone is set if only calls and commands of the job can change its files: then they stay as they are
	// while they are inspected and committed, and are searched for once.
	Alone bool
}

// Faults runs the verify commands and examines the changes of an attempt, which a session with a profile has made.
func (o Of) Faults(ctx context.Context, p permission.Profile, attempt int) (f Faults, end *ending.Stop) {
	defer o.Site.Diff.Tree.Changing(true)() // by verify commands
	if f.Ran, end = (site.Verifier{Site: o.Site}).All(ctx, attempt); end != nil {
		return f, end
	}
	f.failed = commands.Failed(f.Ran)
	if f.barred, f.refused, end = o.barred(ctx, p); end != nil {
		return f, end
	}
	if f.over, end = o.outOfScope(ctx); end != nil {
		return f, end
	}
	if f.marked, end = o.conflicts(ctx); end != nil || !f.None() {
		return f, end
	}
	f.Hunks, f.unneeded, end = o.hunks(ctx)
	return f, end
}

// Changes returns what the job has changed.
func (o Of) Changes(ctx context.Context) (*changes.Found, error) {
	found, err := o.Site.Diff.Find(ctx)
	if err == nil && o.Alone {
		o.Site.Diff.Keep(found)
	}
	return found, err
}

// outOfScope returns the limits of the task's change that the job's changes exceed.
func (o Of) outOfScope(ctx context.Context) ([]landing.Excess, *ending.Stop) {
	if o.Job.Spec.Change.IsZero() {
		return nil, nil
	}
	found, err := o.Changes(ctx)
	if err != nil {
		return nil, ending.OfGit(ctx, "find the job's changes", err)
	}
	over, err := landing.Excesses(ctx, o.Site.Tree, o.Site.Below, o.Job.Spec.Change, found.Changes)
	if err != nil {
		return nil, ending.OfGit(ctx, "compare the job's changes with the limits of change", err)
	}
	return over, nil
}

// hunks accounts for the hunks of the job's changes if its task has ablate, and reports whether the account has
// something that the task's change.unneeded returns to the agent.
func (o Of) hunks(ctx context.Context) (account *event.Hunks, unneeded bool, end *ending.Stop) {
	spec := o.Job.Spec
	if spec.Ablate.Time == 0 {
		return nil, false, nil
	}
	found, err := o.Changes(ctx)
	if err != nil {
		return nil, false, ending.OfGit(ctx, "find the job's changes", err)
	}
	account, end = trials.Account(ctx, o.Site, o.Job, found.Changes, o.Trials)
	if end != nil || account == nil || len(account.UnneededHunks())+len(account.Passing()) == 0 {
		return account, false, end
	}
	if spec.Ablate.Unneeded == tasks.UnneededWarn {
		o.Job.Warn(trials.Text(account))
	}
	return account, spec.Ablate.Unneeded == tasks.UnneededFail, nil
}

// barred returns the denials of what was changed in the workspace since the job started,
// and the paths that git would not commit, if there is a commit.
func (o Of) barred(ctx context.Context, p permission.Profile) ([]permission.Decision, []state.Refusal, *ending.Stop) {
	e := landing.Edits{Profile: p, Root: o.Site.Tree.Root(), Below: o.Site.Below}
	commits := o.Job.Spec.Commit != nil
	if !commits && !p.BarsAny() {
		return nil, nil, nil
	}
	found, err := o.Changes(ctx)
	if err != nil {
		return nil, nil, ending.OfGit(ctx, "find the paths that the job changed", err)
	}
	var refused []state.Refusal
	if commits {
		refused = found.Changes.Refused
	}
	if !p.BarsAny() {
		return nil, refused, nil
	}
	changed, err := o.Site.Diff.Paths(ctx, found)
	if err != nil {
		return nil, nil, ending.OfGit(ctx, "find the paths that the job changed", err)
	}
	return e.Barred(changed), refused, nil
}

// maxMarked is the maximum size of a file that is searched for conflict markers, in bytes.
const maxMarked = 4 << 20

// conflicts returns the files in which a job that is rebased has left conflict markers.
func (o Of) conflicts(ctx context.Context) (marked []string, end *ending.Stop) {
	if o.Job.Start.Onto.Commit == "" {
		return nil, nil
	}
	paths, _, err := o.Site.Tree.ChangedPaths(ctx, o.Site.Before)
	if err != nil {
		return nil, o.Job.NotVerified(ctx, err)
	}
	for _, path := range paths {
		isMarked, err := hasMarkers(o.Site.Space.Dir(), strings.TrimPrefix(strings.TrimPrefix(path, o.Site.Below), "/"))
		if err == nil && isMarked { // otherwise it was removed, or is no file
			marked = append(marked, path)
		}
	}
	return marked, nil
}

// hasMarkers reports whether a file has conflict markers. The agent may have made a pipe or a symlink of it.
func hasMarkers(dir, name string) (bool, error) {
	f, err := files.OpenIn(dir, name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMarked+1))
	if err != nil || len(data) > maxMarked {
		return false, err
	}
	data = append([]byte("\n"), data...)
	return bytes.Contains(data, []byte("\n<<<<<<< ")) && bytes.Contains(data, []byte("\n>>>>>>> ")), nil
}
