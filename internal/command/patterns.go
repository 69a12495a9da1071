package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/patterns/compared"
	"github.com/millhand/millhand/internal/app/shown"
	"github.com/millhand/millhand/internal/app/world"
)

// patternsCommand prints the edits that the jobs of a run share, and the jobs to read.
func patternsCommand(w world.World) *cli.Command {
	o := &shown.ReportOptions{}
	return &cli.Command{
		Name: "patterns", Usage: "Print the edits that repositories share, and the jobs to read", ArgsUsage: "RUN",
		UsageText: "millhand report patterns 20260102-030405-1a2b3c4d",
		Flags:     []cli.Flag{jsonFlag(&o.JSON, "Print one JSON document with all patterns")},
		Action:    act(o.Parse, func(ctx context.Context) error { return compared.Print(ctx, w, *o) }),
	}
}
