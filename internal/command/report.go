package command

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/html"
	"github.com/millhand/millhand/report/telemetry"
)

type reportOptions struct {
	run  string // its id, or its report directory
	job  string // "" for the run
	json bool
}

func reportCommand(w world.World) *cli.Command {
	c := &cli.Command{Name: "report", Usage: "Print reports of saved runs, merge those of shards, list and remove runs"}
	for _, f := range []struct {
		name, usage string
		write       func(io.Writer, *report.Report, fs.FS) error
	}{
		{"json", "Print report.json", alone(report.JSON)},
		{"junit", "Print junit.xml", alone(report.JUnit)},
		{"markdown", "Print summary.md", func(out io.Writer, r *report.Report, files fs.FS) error {
			return report.Summary(out, r, rundir.Patterns(files, r))
		}},
		{"sarif", "Print the findings of reviews as SARIF", alone(report.SARIF)},
		{"html", "Print report.html, a page for people", func(out io.Writer, r *report.Report, files fs.FS) error {
			return html.Write(out, r, rundir.Details(files), rundir.Patterns(files, r))
		}},
		{"otel", "Print OpenTelemetry spans and metrics as OTLP JSON", alone(telemetry.Write)},
	} {
		o := &reportOptions{}
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: f.name, Usage: f.usage, ArgsUsage: "RUN", UsageText: "millhand report " + f.name + " .millhand/runs/20260102-030405-1a2b3c4d",
			Action: act(o.parse, func(context.Context) error { return printReport(w, *o, f.write) }),
		})
	}
	c.Subcommands = slices.Concat([]*cli.Command{showCommand(w)}, runsCommands(w), c.Subcommands, []*cli.Command{patternsCommand(w), mergeCommand(w)})
	c.Subcommands = append(c.Subcommands, &cli.Command{
		Name: "diff", Usage: "not supported yet", Hidden: true, SkipFlagParsing: true,
		Action: func(*cli.Context) error { return fault.New(event.ExitUsage, "report diff is not supported yet") },
	})
	return c
}

// showCommand prints a run or one job of it for people.
func showCommand(w world.World) *cli.Command {
	o := &reportOptions{}
	return &cli.Command{
		Name: "show", Usage: "Print the run as a table, or everything about one job", ArgsUsage: "RUN [JOB]",
		UsageText: "millhand report show 20260102-030405-1a2b3c4d\nmillhand report show 20260102-030405-1a2b3c4d fix-tests",
		Flags:     []cli.Flag{jsonFlag(&o.json, "Print report.json, or the job as it is there")},
		Action: act(o.parseShow, func(ctx context.Context) error {
			return printReport(w, *o, func(_ io.Writer, r *report.Report, files fs.FS) error { return o.show(ctx, w, r, files) })
		}),
	}
}

func (o *reportOptions) parseShow(args []string) error {
	if len(args) == 2 {
		o.job, args = args[1], args[:1]
	}
	return o.parse(args)
}

func (o *reportOptions) show(ctx context.Context, w world.World, r *report.Report, files fs.FS) error {
	if o.job == "" {
		if o.json {
			return report.JSON(w.Out, r)
		}
		return paged(ctx, w, func(out io.Writer) error { return report.PaintedText(out, r, view.Outcomes(w.Out, w.Getenv)) })
	}
	i := slices.IndexFunc(r.Jobs, func(j report.Job) bool { return j.ID == o.job })
	if i < 0 {
		var ids []string
		for _, j := range r.Jobs {
			ids = append(ids, j.ID)
		}
		return fault.New(event.ExitUsage, "job %q not found in the run%s", o.job, near(o.job, ids))
	}
	job, err := r.Jobs[i].Complete()
	if err != nil {
		return err
	}
	if o.json {
		return printable.WriteJSON(w.Out, job)
	}
	return paged(ctx, w, func(out io.Writer) error {
		return report.JobText(out, job, rundir.Patch(files, job), painter(w))
	})
}

func (o *reportOptions) parse(args []string) error {
	if len(args) != 1 {
		return errors.New("missing RUN argument: the id or the report directory of a run")
	}
	o.run = args[0]
	return nil
}

// alone is a format that follows from the report alone.
func alone(write func(io.Writer, *report.Report) error) func(io.Writer, *report.Report, fs.FS) error {
	return func(out io.Writer, r *report.Report, _ fs.FS) error { return write(out, r) }
}

func printReport(w world.World, o reportOptions, write func(io.Writer, *report.Report, fs.FS) error) error {
	file, err := savedrun.OpenEvents(o.run)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer file.Close()
	rep, err := report.Load(file)
	if err != nil {
		return fault.New(event.ExitUsage, "%s: %w", file.Name(), err)
	}
	files, err := os.OpenRoot(filepath.Dir(file.Name()))
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer files.Close()
	err = write(w.Out, rep, files.FS())
	if known := new(fault.Error); err != nil && !errors.As(err, known) {
		return fault.New(event.ExitInternal, "print the report: %w", err)
	}
	return err
}
