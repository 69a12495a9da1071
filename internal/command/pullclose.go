package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/gitops/remote"
	"github.com/millhand/millhand/report"
)

type closePullsOptions struct {
	publishedOptions
	deleteBranch bool
	comment      string
	dryRun       bool
}

func (o *closePullsOptions) flags() []cli.Flag {
	return append(o.publishedOptions.flags(),
		&cli.BoolFlag{Name: "delete-branch", Destination: &o.deleteBranch, EnvVars: noVariable(), Usage: "Also delete the branches, if they have no commits but those of the run"},
		&cli.StringFlag{Name: "comment", Destination: &o.comment, EnvVars: noVariable(), Usage: "Comment on each pull request with `TEXT` before closing it"},
		&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun, Usage: "Print what would be closed, and close nothing"},
	)
}

// revertFlags are the flags of "publish revert", which also closes pull requests.
func (o *closePullsOptions) revertFlags() []cli.Flag {
	return append(o.publishedOptions.flags(),
		&cli.BoolFlag{Name: "delete-branch", Destination: &o.deleteBranch, EnvVars: noVariable(), Usage: "Also delete the branches of those that are closed or reverted, if they have no commits but those of the run"},
		&cli.StringFlag{Name: "comment", Destination: &o.comment, EnvVars: noVariable(), Usage: "Give `TEXT` as the reason: in the inverse pull requests, and as a comment on those that are closed"},
		&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun, Usage: "Print what would be reverted and closed, and change nothing"},
	)
}

func closePulls(ctx context.Context, w World, o closePullsOptions) error {
	r, err := openPublished(ctx, w, o.publishedOptions, true)
	if err != nil {
		return err
	}
	rows := []pullRow{}
	for _, j := range r.jobs {
		rows = append(rows, r.close(ctx, j, o))
		if ctx.Err() != nil {
			break
		}
	}
	return r.print(ctx, o.json, rows)
}

// close closes the pull request of a job.
func (r *publishedRun) close(ctx context.Context, j report.Job, o closePullsOptions) pullRow {
	row, pr, client, at := r.begin(ctx, j)
	switch {
	case client == nil:
		return row
	case pr.State == forge.Merged:
		row.Result, row.Reason = "merged", "it was merged before"
		return row
	case pr.Head.Branch != j.Published.Branch:
		row.Result, row.Reason, row.exit = "not closed", fmt.Sprintf("it is for branch %s, but the run pushed %s", pr.Head.Branch, j.Published.Branch), event.ExitFailed
		return row
	case pr.State == forge.Open && o.dryRun:
		row.Result = "would close"
		return row
	}
	row.Result = "closed"
	if pr.State == forge.Closed {
		row.Reason = "it was closed before"
	} else if err := r.shut(ctx, client, at, pr, o.comment); err != nil {
		return r.failed(row, err)
	}
	row.PullRequest.State = forge.Closed
	if o.deleteBranch && !o.dryRun {
		return r.deleteBranch(ctx, row, j)
	}
	return row
}

// shut comments on a pull request and closes it. Repeated, it comments only once.
func (r *publishedRun) shut(ctx context.Context, client *forge.Client, at forge.Path, pr forge.PullRequest, comment string) error {
	if comment != "" {
		if _, err := client.Comment(ctx, at, forge.Thread{Number: pr.Number}, "close-"+r.id, comment); err != nil {
			return err
		}
	}
	return client.Close(ctx, at, pr.Number)
}

// deleteBranch deletes the branch of a closed pull request, if it is at the run's commit.
func (r *publishedRun) deleteBranch(ctx context.Context, row pullRow, j report.Job) pullRow {
	at := remote.Repo{URL: j.Published.Remote, Auth: r.auth(j.Published.Remote), Proxy: r.world.Proxy}
	err := remote.Delete(ctx, r.world.GitEnv(), at, j.Published.Branch, j.Published.Hash)
	switch {
	case errors.Is(err, remote.ErrLease):
		row.Reason, row.exit = fmt.Sprintf("branch %s was not deleted: it has commits that are not the run's", j.Published.Branch), event.ExitFailed
	case err != nil:
		row.Reason, row.exit = r.known.Text(fmt.Sprintf("branch %s was not deleted: %v", j.Published.Branch, err)), event.ExitPublish
	}
	return row
}
