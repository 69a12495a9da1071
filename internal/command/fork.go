package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/sessions"
	"github.com/millhand/millhand/internal/app/world"
)

func forkCommand(w world.World) *cli.Command {
	o := &sessions.ForkOptions{Opts: *invocation.New()}
	flags := []cli.Flag{
		&cli.StringFlag{Name: "at", Destination: &o.Message, EnvVars: noVariable(), Usage: "Continue from `MESSAGE`: before a prompt, or after the turn of a response or result"},
		&cli.StringFlag{Name: "prompt", Destination: &o.Prompt, EnvVars: noVariable(), DefaultText: "that of MESSAGE, or none", Usage: "Continue with `PROMPT`"},
		&cli.StringFlag{Name: "branch", Destination: &o.Branch, EnvVars: noVariable(), DefaultText: "the job's branch with -fork-N", Usage: "Commit to the new branch `NAME`"},
		&cli.GenericFlag{
			Name: "max-cost", Value: option.Of(&o.Opts.Plan.MaxCost, option.Dollars), EnvVars: noVariable(), DefaultText: "that of the run",
			Usage: "Limit the cost of the new run to `USD` (US dollars)",
		},
		&cli.StringFlag{Name: "report-dir", Destination: &o.Opts.ReportDir, EnvVars: noVariable(), DefaultText: ".millhand/runs/RUN-ID", Usage: "Write the reports of the new run into `DIR`"},
	}
	return &cli.Command{
		Name: "fork", Usage: "Start a new run that continues from a message of a job's session, on a new branch", ArgsUsage: "RUN [JOB]",
		UsageText: "millhand session fork 20260102-030405-1a2b3c4d fix-tests --at m5 --prompt \"Use a table test instead.\"\nmillhand session fork 20260102-030405-1a2b3c4d fix-tests --at m1",
		Flags:     append(flags, flagsOf(o.Opts.LogFields())...),
		Action:    act(o.Parse, func(ctx context.Context) error { return sessions.Fork(ctx, w, *o) }),
	}
}
