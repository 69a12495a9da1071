package command

import (
	"context"
	"io"
	"io/fs"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/patterns"
)

// patternsCommand prints the edits that the jobs of a run share, and the jobs to read.
func patternsCommand(w world.World) *cli.Command {
	o := &reportOptions{}
	return &cli.Command{
		Name: "patterns", Usage: "Print the edits that repositories share, and the jobs to read", ArgsUsage: "RUN",
		UsageText: "millhand report patterns 20260102-030405-1a2b3c4d",
		Flags:     []cli.Flag{jsonFlag(&o.json, "Print one JSON document with all patterns")},
		Action: act(o.parse, func(ctx context.Context) error {
			return printReport(w, *o, func(out io.Writer, r *report.Report, files fs.FS) error {
				found := rundir.Patterns(files, r)
				if o.json {
					return printable.WriteJSON(out, struct {
						Run string `json:"run"`
						*patterns.Result
					}{r.Run.ID, found})
				}
				return paged(ctx, w, func(out io.Writer) error { return report.PatternsText(out, found, painter(w)) })
			})
		}),
	}
}
