package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/audit"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/world"
)

func verifyReportCommand(w world.World) *cli.Command {
	o := &audit.Options{}
	return &cli.Command{
		Name: "verify-report", Usage: "Verify the evidence of a run: its events, files, commits and signature", ArgsUsage: "DIR",
		UsageText: "millhand verify-report out --repo . --allowed-signers .github/allowed_signers",
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "repo", Value: (*option.Texts)(&o.Repos), EnvVars: noVariable(), Usage: "Compare the commits with those of `REPO`, a path or a URL (repeatable)"},
			&cli.StringFlag{Name: "allowed-signers", Destination: &o.Signers, Usage: "Require a signature by a key in `FILE`, which has the format of ssh-keygen's allowed signers"},
			jsonFlag(&o.JSON, "Print one JSON document"),
		},
		Action: act(oneArgument(&o.Dir, "missing DIR argument: the report directory of a run"), func(ctx context.Context) error { return audit.Verify(ctx, w, *o) }),
	}
}
