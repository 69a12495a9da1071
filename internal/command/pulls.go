package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/pulls/manage"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/forge"
)

func publishCommand(w world.World) *cli.Command {
	o := &manage.PublishOptions{}
	return &cli.Command{
		Name: "publish", Usage: "Publish a saved run, and manage its pull requests", ArgsUsage: "RUN [JOB...]",
		UsageText: "millhand publish 20260102-030405-1a2b3c4d --dry-run\nmillhand publish .millhand/runs/20260102-030405-1a2b3c4d --publish pr",
		Flags:     publishFlags(o), Subcommands: pullCommands(w),
		Action: act(func(args []string) error { return parsePublish(o, args) }, func(ctx context.Context) error { return manage.Publish(ctx, w, *o) }),
	}
}

// pullCommands are the commands for pull requests of a saved run.
func pullCommands(w world.World) []*cli.Command {
	status, merging, closing, reverting := &manage.Options{}, &mergePullsOptions{}, &closePullsOptions{}, &closePullsOptions{}
	return []*cli.Command{
		{
			Name: "status", Usage: "Print the state of a run's pull requests", ArgsUsage: "RUN [JOB...]",
			UsageText: "millhand publish status 20260102-030405-1a2b3c4d",
			Flags:     publishedFlags(status),
			Action:    act(func(args []string) error { return parsePublished(status, args) }, func(ctx context.Context) error { return manage.Do(ctx, w, *status, pulls.Order{}) }),
		},
		{
			Name: "merge", Usage: "Merge the pull requests of a run whose checks pass", ArgsUsage: "RUN [JOB...]",
			UsageText: "millhand publish merge 20260102-030405-1a2b3c4d --dry-run\nmillhand publish merge 20260102-030405-1a2b3c4d fix-tests-api --method squash",
			Flags:     merging.flags(),
			Action:    act(merging.parse, func(ctx context.Context) error { return manage.Do(ctx, w, merging.Options, merging.order()) }),
		},
		{
			Name: "close", Usage: "Close the open pull requests of a run without merging them", ArgsUsage: "RUN [JOB...]",
			UsageText: "millhand publish close 20260102-030405-1a2b3c4d --delete-branch --comment 'Replaced by another run.'",
			Flags:     closing.flags(),
			Action: act(func(args []string) error { return parsePublished(&closing.Options, args) }, func(ctx context.Context) error {
				return manage.Do(ctx, w, closing.Options, closing.order(pulls.Close))
			}),
		},
		{
			Name: "revert", Usage: "Open inverse pull requests for those of a run that were merged, and close the others", ArgsUsage: "RUN [JOB...]",
			UsageText: "millhand publish revert 20260102-030405-1a2b3c4d --dry-run\nmillhand publish revert 20260102-030405-1a2b3c4d --delete-branch --comment 'The prompt was wrong.'",
			Flags:     reverting.revertFlags(),
			Action: act(func(args []string) error { return parsePublished(&reverting.Options, args) }, func(ctx context.Context) error {
				return manage.Do(ctx, w, reverting.Options, reverting.order(pulls.Revert))
			}),
		},
	}
}

func publishedFlags(o *manage.Options) []cli.Flag {
	return []cli.Flag{jsonFlag(&o.JSON, "Print one JSON document"), flagOf(o.PolicyField(""))}
}

func parsePublished(o *manage.Options, args []string) error {
	if len(args) == 0 {
		return errors.New("missing RUN argument: the id or the report directory of a run")
	}
	o.Run, o.Jobs = args[0], args[1:]
	return nil
}

type mergePullsOptions struct {
	manage.Options
	method        string
	withoutChecks bool
	dryRun        bool
}

func (o *mergePullsOptions) flags() []cli.Flag {
	return append(publishedFlags(&o.Options),
		// Variables set none of these: a merge can't be undone.
		&cli.StringFlag{
			Name: "method", Destination: &o.method, Value: string(forge.MergeCommit), EnvVars: noVariable(),
			Usage: "Merge by `METHOD`: merge, squash or rebase (GitLab: squash, or as the project is configured)",
		},
		&cli.BoolFlag{Name: "without-checks", Destination: &o.withoutChecks, EnvVars: noVariable(), Usage: "Also merge pull requests that have no checks at all"},
		&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun, Usage: "Print what would be merged, and merge nothing"},
	)
}

func (o *mergePullsOptions) parse(args []string) error {
	if !slices.Contains([]string{string(forge.MergeCommit), string(forge.Squash), string(forge.Rebase)}, o.method) {
		return fmt.Errorf("invalid value %q for --method: must be merge, squash or rebase", o.method)
	}
	return parsePublished(&o.Options, args)
}

func (o *mergePullsOptions) order() pulls.Order {
	return pulls.Order{Verb: pulls.Merge, Method: forge.MergeMethod(o.method), WithoutChecks: o.withoutChecks, DryRun: o.dryRun}
}

type closePullsOptions struct {
	manage.Options
	deleteBranch bool
	comment      string
	dryRun       bool
}

func (o *closePullsOptions) flags() []cli.Flag {
	return append(publishedFlags(&o.Options),
		&cli.BoolFlag{Name: "delete-branch", Destination: &o.deleteBranch, EnvVars: noVariable(), Usage: "Also delete the branches, if they have no commits but those of the run"},
		&cli.StringFlag{Name: "comment", Destination: &o.comment, EnvVars: noVariable(), Usage: "Comment on each pull request with `TEXT` before closing it"},
		&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun, Usage: "Print what would be closed, and close nothing"},
	)
}

// revertFlags are the flags of "publish revert", which also closes pull requests.
func (o *closePullsOptions) revertFlags() []cli.Flag {
	return append(publishedFlags(&o.Options),
		&cli.BoolFlag{
			Name: "delete-branch", Destination: &o.deleteBranch, EnvVars: noVariable(),
			Usage: "Also delete the branches of those that are closed or reverted, if they have no commits but those of the run",
		},
		&cli.StringFlag{Name: "comment", Destination: &o.comment, EnvVars: noVariable(), Usage: "Give `TEXT` as the reason: in the inverse pull requests, and as a comment on those that are closed"},
		&cli.BoolFlag{Name: "dry-run", Destination: &o.dryRun, Usage: "Print what would be reverted and closed, and change nothing"},
	)
}

func (o *closePullsOptions) order(v pulls.Verb) pulls.Order {
	return pulls.Order{Verb: v, DeleteBranch: o.deleteBranch, Comment: o.comment, DryRun: o.dryRun}
}
