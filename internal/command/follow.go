package command

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/follow/pass"
	"github.com/millhand/millhand/internal/app/world"
)

func followCommand(w world.World) *cli.Command {
	o := &pass.Options{}
	return &cli.Command{
		Name: "follow", Usage: "Rebase open pull requests, fix their failed checks and respond to reviews, once", ArgsUsage: "MANIFEST|RUN [JOB...]",
		UsageText: "millhand follow millhand.yaml\nmillhand follow 20260102-030405-1a2b3c4d --dry-run\nmillhand follow .millhand/runs/20260102-030405-1a2b3c4d fix-tests-api",
		Flags: []cli.Flag{
			jsonFlag(&o.JSON, "Print one JSON document"), flagOf(o.PolicyField("")),
			&cli.StringFlag{Name: "dir", Destination: &o.Dir, DefaultText: ".millhand/runs", Usage: "Find the runs of MANIFEST in `DIR`"},
			&cli.BoolFlag{Name: "dry-run", Destination: &o.DryRun, Usage: "Print what would be done, and do nothing"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Destination: &o.Quiet, Usage: "Print errors and the result only"},
		},
		Action: act(func(args []string) error { return parseFollow(o, args) }, func(ctx context.Context) error { return pass.Make(ctx, w, *o) }),
	}
}

func parseFollow(o *pass.Options, args []string) error {
	if len(args) == 0 {
		return errors.New("missing MANIFEST or RUN argument: a manifest with saved runs, or the id or report directory of a run")
	}
	o.Of, o.Jobs = args[0], args[1:]
	return nil
}
