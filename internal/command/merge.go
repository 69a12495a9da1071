package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/merge"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

func mergeCommand(w world.World) *cli.Command {
	o := &merge.Options{FailOn: event.FailOnAny}
	return &cli.Command{
		Name: "merge", Usage: "Merge the reports of shards into the reports of one run, and exit as that run would", ArgsUsage: "DIR...",
		UsageText: "millhand report merge --report-dir all shard-1 shard-2",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "report-dir", Destination: &o.ReportDir, Usage: "Write the reports into `DIR` (required)"},
			flagOf(invocation.FailOnField(&o.FailOn, "")),
		},
		Action: act(o.Parse, func(ctx context.Context) error { return merge.Shards(ctx, w, *o) }),
	}
}
