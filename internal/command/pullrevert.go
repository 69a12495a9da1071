package command

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
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/runner/publish"
)

// revertPulls opens an inverse pull request for each one of a run that was merged, and closes
// those that are open. Nothing is recorded in the run: the forge has the state, so that
// repeating it changes nothing.
func revertPulls(ctx context.Context, w World, o closePullsOptions) error {
	r, err := openPublished(ctx, w, o.publishedOptions, true)
	if err != nil {
		return err
	}
	v := &revertingPulls{publishedRun: r, options: o}
	defer v.close()
	rows := []pullRow{}
	for _, j := range r.jobs {
		rows = append(rows, v.revert(ctx, j))
		if ctx.Err() != nil {
			break
		}
	}
	return r.print(ctx, o.json, rows)
}

// revertingPulls is a run whose pull requests are reverted.
type revertingPulls struct {
	*publishedRun
	options closePullsOptions
	state   finishedRun
	out     *rundir.Dir // nil until a merged pull request is found
	later   runner.Later
}

func (v *revertingPulls) close() {
	if v.out != nil {
		v.out.Close()
	}
}

// open opens the report directory, for the commits of the jobs.
func (v *revertingPulls) open(ctx context.Context) (err error) {
	if v.out != nil {
		return nil
	}
	dir, err := filepath.Abs(v.dir)
	if err != nil {
		return err
	}
	if v.out, err = rundir.Reopen(ctx, dir, v.world.Clock()); err != nil {
		return err
	}
	if _, err := v.out.Events(v.state.Emit); err != nil {
		return err
	}
	if err := v.out.Begin(v.id, sandbox.None, nil, 1); err != nil {
		return err
	}
	v.later = runner.Later{
		Git: v.world.GitEnv(), Reports: dir, Mirrors: v.world.Mirrors(), Work: v.out.Work(), Auth: v.auth, Proxy: v.world.Proxy, Forge: v.clients.Open,
		Redact: v.known, Protected: v.policies.Protected(), Run: v.id, Now: v.world.Now,
		Emit: func(e event.Event) {
			if e.Warning != nil {
				v.clients.Notify("warning: " + e.Warning.Message)
			}
		},
	}
	return nil
}

// revert reverts the pull request of a job.
func (v *revertingPulls) revert(ctx context.Context, j report.Job) pullRow {
	row, pr, client, at := v.begin(ctx, j)
	if client == nil {
		return row
	}
	if pr.State != forge.Merged {
		return v.publishedRun.close(ctx, j, v.options)
	}
	inverse, err := inverseOf(ctx, client, at, j.Published.Branch, j.Published.Hash)
	switch {
	case err == nil:
		row.Result, row.Reason = "reverted", fmt.Sprintf("by %s, which is %s", inverse.URL, inverse.State)
		return v.done(ctx, row, j)
	case !errors.Is(err, forge.ErrNotFound):
		return v.failed(row, err)
	case v.options.dryRun:
		row.Result = "would revert"
		return row
	}
	if err := v.open(ctx); err != nil {
		return v.failed(row, err)
	}
	saved := v.state.jobs[j.ID]
	if saved == nil {
		return v.failed(row, errors.New("the run has no events of the job"))
	}
	err = v.later.Revert(ctx, j.ID, saved, runner.Inverse{
		Target: publish.Target{Client: client, Repo: at, Base: pr.Base}, Title: publish.RevertTitle(pr.Title), Body: publish.RevertBody(pr.URL, v.id, v.options.comment),
	})
	switch {
	case runner.IsUnchanged(err):
		row.Result, row.Reason = "reverted", "nothing is left to revert"
		return v.done(ctx, row, j)
	case errors.Is(err, gitops.ErrMerge):
		row.Result, row.Reason, row.exit = "not reverted", "later changes of "+pr.Base+" conflict with its inverse: revert it yourself", event.ExitFailed
		return row
	case err != nil:
		return v.failed(row, err)
	}
	if inverse, err = client.Find(ctx, at, forge.Head{Branch: runner.RevertBranch(j.Published.Branch)}); err != nil {
		return v.failed(row, err)
	}
	row.Result, row.Reason = "reverted", "by "+inverse.URL
	return v.done(ctx, row, j)
}

// done deletes the branch of a pull request that was reverted, if that is asked for.
func (v *revertingPulls) done(ctx context.Context, row pullRow, j report.Job) pullRow {
	if !v.options.deleteBranch || v.options.dryRun {
		return row
	}
	return v.deleteBranch(ctx, row, j)
}

// inverseOf returns the pull request that reverts the commit that a run has pushed to a branch. The
// error is [forge.ErrNotFound] if there are only those that revert commits of other runs.
func inverseOf(ctx context.Context, client *forge.Client, at forge.Path, branch, pushed string) (forge.PullRequest, error) {
	all, err := client.FindAll(ctx, at, forge.Head{Branch: runner.RevertBranch(branch)})
	if err != nil {
		return forge.PullRequest{}, err
	}
	for _, inverse := range all {
		c, err := client.CommitOf(ctx, at, inverse.SHA)
		if err != nil || runner.Reverts(c.Message, pushed) {
			return inverse, err
		}
	}
	return forge.PullRequest{}, fmt.Errorf("inverse of %.10s: %w", pushed, forge.ErrNotFound)
}
