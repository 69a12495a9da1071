package pulls

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/savedjob"
)

// inverses is what inverse pull requests are made from. Nothing is recorded in the run: the forge has the state, so
// that repeating a revert changes nothing.
type inverses struct {
	out   *rundir.Dir
	state events
	later savedjob.Run
}

// openInverses opens the report directory of the run, for the commits of its jobs.
func (r *Run) openInverses(ctx context.Context) error {
	if r.inverses != nil {
		return nil
	}
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return err
	}
	v := &inverses{}
	if v.out, err = rundir.Reopen(ctx, dir, r.World.Clock()); err != nil {
		return err
	}
	r.inverses = v
	if _, err := v.out.Events(v.state.Emit); err != nil {
		return err
	}
	if err := v.out.Begin(r.ID, sandbox.None, nil, 1); err != nil {
		return err
	}
	v.later = savedjob.Run{
		Git: r.World.GitEnv(), Reports: dir, Mirrors: r.World.Mirrors(), Work: v.out.Work(), Auth: r.auth, Proxy: r.World.Proxy, Forge: r.clients.Open,
		Redact: r.Known, Protected: r.policies.Protected(), Run: r.ID, Now: r.World.Now,
		Emit: func(e event.Event) {
			if e.Warning != nil {
				r.clients.Notify("warning: " + e.Warning.Message)
			}
		},
	}
	return nil
}

// invert opens the inverse of a merged pull request, unless there is one. done: nothing of it is left.
func (r *Run) invert(ctx context.Context, row Row, j report.Job, pr forge.PullRequest, client *forge.Client, at forge.Path) (_ Row, done bool) {
	inverse, err := InverseOf(ctx, client, at, j.Published.Branch, j.Published.Hash)
	switch {
	case err == nil:
		row.Reason = fmt.Sprintf("by %s, which is %s", inverse.URL, inverse.State)
		return row, true
	case !errors.Is(err, forge.ErrNotFound):
		return r.failed(row, err), false
	case r.order.DryRun:
		row.Result = ResultWouldRevert
		return row, false
	}
	if err := r.openInverses(ctx); err != nil {
		return r.failed(row, err), false
	}
	saved := r.inverses.state.jobs[j.ID]
	if saved == nil {
		return r.failed(row, errors.New("the run has no events of the job")), false
	}
	err = r.inverses.later.Revert(ctx, j.ID, saved, savedjob.Inverse{
		Target: publish.Target{Client: client, Repo: at, Base: pr.Base}, Title: publish.RevertTitle(pr.Title), Body: publish.RevertBody(pr.URL, r.ID, r.order.Comment),
	})
	switch {
	case savedjob.IsUnchanged(err):
		row.Reason = "nothing is left to revert"
		return row, true
	case errors.Is(err, gitops.ErrMerge):
		row.Result, row.Reason, row.exit = ResultNotReverted, "later changes of "+pr.Base+" conflict with its inverse: revert it yourself", event.ExitFailed
		return row, false
	case err != nil:
		return r.failed(row, err), false
	}
	if inverse, err = client.Find(ctx, at, forge.Head{Branch: savedjob.RevertBranch(j.Published.Branch)}); err != nil {
		return r.failed(row, err), false
	}
	row.Reason = "by " + inverse.URL
	return row, true
}

// InverseOf returns the pull request that reverts the commit that a run has pushed to a branch. The
// error is [forge.ErrNotFound] if there are only those that revert commits of other runs.
func InverseOf(ctx context.Context, client *forge.Client, at forge.Path, branch, pushed string) (forge.PullRequest, error) {
	all, err := client.FindAll(ctx, at, forge.Head{Branch: savedjob.RevertBranch(branch)})
	if err != nil {
		return forge.PullRequest{}, err
	}
	for _, inverse := range all {
		c, err := client.CommitOf(ctx, at, inverse.SHA)
		if err != nil || savedjob.Reverts(c.Message, pushed) {
			return inverse, err
		}
	}
	return forge.PullRequest{}, fmt.Errorf("inverse of %.10s: %w", pushed, forge.ErrNotFound)
}
