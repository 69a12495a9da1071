package command

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/shown"
	"github.com/millhand/millhand/internal/app/world"
)

func reportCommand(w world.World) *cli.Command {
	c := &cli.Command{Name: "report", Usage: "Print reports of saved runs, merge those of shards, list and remove runs"}
	for _, f := range shown.Formats() {
		o := &shown.ReportOptions{}
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: f.Name, Usage: f.Usage, ArgsUsage: "RUN", UsageText: "millhand report " + f.Name + " .millhand/runs/20260102-030405-1a2b3c4d",
			Action: act(o.Parse, func(context.Context) error { return shown.Print(w, o.Run, f) }),
		})
	}
	c.Subcommands = slices.Concat([]*cli.Command{showCommand(w)}, runsCommands(w), c.Subcommands, []*cli.Command{
		patternsCommand(w),
		mergeCommand(w),
	})
	return c
}

// showCommand prints a run or one job of it for people.
func showCommand(w world.World) *cli.Command {
	o := &shown.ReportOptions{}
	return &cli.Command{
		Name: "show", Usage: "Print the run as a table, or everything about one job", ArgsUsage: "RUN [JOB]",
		UsageText: "millhand report show 20260102-030405-1a2b3c4d\nmillhand report show 20260102-030405-1a2b3c4d fix-tests",
		Flags:     []cli.Flag{jsonFlag(&o.JSON, "Print report.json, or the job as it is there")},
		Action:    act(o.ParseShow, func(ctx context.Context) error { return shown.Report(ctx, w, *o) }),
	}
}
