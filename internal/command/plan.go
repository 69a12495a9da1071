package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/planned/outlook"
	"github.com/millhand/millhand/internal/app/world"
)

func planCommand(w world.World) *cli.Command {
	o := &outlook.Options{}
	return &cli.Command{
		Name: "plan", Usage: "Show the planned jobs without running them", ArgsUsage: "[MANIFEST...]",
		Description: "Show the jobs of manifests, and which of them would be skipped or refused.\nNothing is run.\n" + load.OrUsual,
		UsageText:   "millhand plan millhand.yaml\nmillhand plan --check millhand.yaml\nmillhand plan --format github-matrix --shards 4 millhand.yaml",
		Flags: append(flagsOf(o.Plan.JobFields()),
			&cli.StringFlag{Name: "format", Category: option.Outputs, Destination: &o.Format, Value: "table", Usage: "Print in `FORMAT`: table, json or github-matrix"},
			&cli.GenericFlag{
				Name: "shards", Category: option.Outputs, Value: option.Of(&o.Shards, option.AtLeastOne), DefaultText: "one for each job, up to 256",
				Usage: "Split the plan into `N` shards, for --format github-matrix",
			},
			flagOf(invocation.AfterField(&o.After, "those in .millhand/runs", "Forecast the cost of the jobs that `RUN`, a report directory or id, has not finished (repeatable)")),
			&cli.BoolFlag{Name: "check", Category: option.Outputs, Destination: &o.Check, Usage: "Fetch remote repositories too, and exit with code 2 if a job would be refused"},
		),
		Action: act(o.Parse, checks(func(ctx context.Context) error { return outlook.Show(ctx, w, *o) })),
	}
}

func validateCommand(w world.World) *cli.Command {
	o := &load.Options{}
	return &cli.Command{
		Name: "validate", Usage: "Check manifests and the examples of their policies", ArgsUsage: "[MANIFEST...]",
		Description: "Report every error in manifests, with its line, and test the examples of their\npolicies. Nothing is run.\n" + load.OrUsual,
		UsageText:   "millhand validate millhand.yaml",
		Flags:       flagsOf(o.Fields()),
		Action: act(func(args []string) error { return o.Parse("validate", args) }, checks(func(ctx context.Context) error {
			return outlook.Validate(ctx, w, *o)
		})),
	}
}
