package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/report"
)

type mergePullsOptions struct {
	publishedOptions
	method        string
	withoutChecks bool
	dryRun        bool
}

func (o *mergePullsOptions) flags() []cli.Flag {
	return append(o.publishedOptions.flags(),
		// Variables set none of these: a merge can't be undone.
		&cli.StringFlag{Name: "method", Destination: &o.method, Value: string(forge.MergeCommit), EnvVars: noVariable(), Usage: "Merge by `METHOD`: merge, squash or rebase (GitLab: squash, or as the project is configured)"},
		&cli.BoolFlag{Name: "without-checks", Destination: &o.withoutChecks, EnvVars: noVariable(), Usage: "Also merge pull requests that have no checks at all"},
		&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun, Usage: "Print what would be merged, and merge nothing"},
	)
}

func (o *mergePullsOptions) parse(args []string) error {
	if !slices.Contains([]string{string(forge.MergeCommit), string(forge.Squash), string(forge.Rebase)}, o.method) {
		return fmt.Errorf("invalid value %q for --method: must be merge, squash or rebase", o.method)
	}
	return o.publishedOptions.parse(args)
}

func mergePulls(ctx context.Context, w World, o mergePullsOptions) error {
	r, err := openPublished(ctx, w, o.publishedOptions, true)
	if err != nil {
		return err
	}
	rows := []pullRow{}
	for _, j := range r.jobs {
		rows = append(rows, r.merge(ctx, j, o))
		if ctx.Err() != nil {
			break
		}
	}
	return r.print(ctx, o.json, rows)
}

// How often, and after which time, a pull request is read again whose forge is still
// finding out whether it can be merged.
const (
	mergeableTries = 5
	mergeableWait  = 2 * time.Second
)

// merge merges the pull request of a job.
func (r *publishedRun) merge(ctx context.Context, j report.Job, o mergePullsOptions) pullRow {
	row, pr, client, at := r.begin(ctx, j)
	if client == nil {
		return row
	}
	reason := notReady(pr, j, o.withoutChecks)
	for range mergeableTries {
		if reason != undecided {
			break
		}
		if err := r.world.Sleep.For(ctx, mergeableWait); err != nil {
			return r.failed(row, err)
		}
		if row, pr, client, at = r.begin(ctx, j); client == nil {
			return row
		}
		reason = notReady(pr, j, o.withoutChecks)
	}
	if reason == undecided && pr.Conflict {
		reason = "it has conflicts with " + pr.Base + ", or the forge has not yet checked it"
	}
	switch {
	case pr.State == forge.Merged:
		row.Result, row.Reason = "merged", "it was merged before"
	case pr.State == forge.Closed:
		row.Result, row.Reason = "closed", "it was closed before, without merging it"
	case reason != "":
		row.Result, row.Reason, row.exit = "not ready", reason, event.ExitFailed
	case o.dryRun:
		row.Result = "would merge"
	default:
		err := client.Merge(ctx, at, pr.Number, j.Published.Hash, forge.MergeMethod(o.method))
		switch {
		case errors.Is(err, forge.ErrConflict): // a rule of the repository, or a commit since then
			row.Result, row.Reason, row.exit = "not ready", r.known.Text(err.Error()), event.ExitFailed
		case err != nil:
			return r.failed(row, err)
		default:
			row.Result, row.PullRequest.State = "merged", forge.Merged
		}
	}
	return row
}

// undecided is why a pull request is not ready whose forge is finding out.
const undecided = "the forge has not yet found out whether it can be merged: try again"

// notReady returns why an open pull request must not be merged; "" if it may.
func notReady(pr forge.PullRequest, j report.Job, withoutChecks bool) string {
	switch {
	case pr.SHA != j.Published.Hash:
		return foreignHead(pr, j) + ": review and merge it yourself"
	case pr.Draft:
		return "it is a draft: mark it as ready for review"
	case pr.Checks == forge.ChecksFailed:
		return "its checks failed"
	case pr.Checks == forge.ChecksPending:
		return "its checks have not completed"
	case pr.Checks == forge.NoChecks && !withoutChecks:
		return "it has no checks: merge it with --without-checks"
	case pr.Mergeable == forge.MergeUnknown:
		return undecided
	case pr.Conflict:
		return "it has conflicts with " + pr.Base
	case pr.Mergeable != forge.CanMerge:
		return cmp.Or(pr.Blocked, "a rule of the repository blocks it, such as a required review, or it is behind "+pr.Base)
	}
	return ""
}
