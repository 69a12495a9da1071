// Package shown prints saved runs for people and programs: their reports and the conversations of their sessions. It changes
// nothing.
package shown

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/html"
	"github.com/millhand/millhand/report/junit"
	"github.com/millhand/millhand/report/sarif"
	"github.com/millhand/millhand/report/summary"
	"github.com/millhand/millhand/report/telemetry"
	"github.com/millhand/millhand/tasks/problem"
)

// ReportOptions are what the flags of "millhand report show" and "millhand report patterns" set.
type ReportOptions struct {
	Run  string // its id, or its report directory
	Job  string // "" for the run
	JSON bool
}

// Parse reads the arguments of commands that print a run.
func (o *ReportOptions) Parse(args []string) error {
	if len(args) != 1 {
		return errors.New("missing RUN argument: the id or the report directory of a run")
	}
	o.Run = args[0]
	return nil
}

// ParseShow reads the arguments of "millhand report show".
func (o *ReportOptions) ParseShow(args []string) error {
	if len(args) == 2 {
		o.Job, args = args[1], args[:1]
	}
	return o.Parse(args)
}

// Format is a file of a report directory that can be printed again.
type Format struct {
	Name, Usage string
	write       func(io.Writer, *report.Report, fs.FS) error
}

// Formats returns the formats in the order of the help.
func Formats() []Format {
	return []Format{
		{"json", "Print report.json", alone(report.JSON)},
		{"junit", "Print junit.xml", alone(junit.Write)},
		{"markdown", "Print summary.md", alone(summary.Markdown)},
		{"sarif", "Print the findings of reviews as SARIF", alone(sarif.Write)},
		{"html", "Print report.html, a page for people", func(out io.Writer, r *report.Report, files fs.FS) error {
			return html.Write(out, r, rundir.Details(files))
		}},
		{"otel", "Print OpenTelemetry spans and metrics as OTLP JSON", alone(telemetry.Write)},
	}
}

// Print prints a run in a format.
func Print(w world.World, run string, f Format) error { return Run(w, run, f.write) }

// Report prints a run or one job of it for people, or as JSON.
func Report(ctx context.Context, w world.World, o ReportOptions) error {
	return Run(w, o.Run, func(_ io.Writer, r *report.Report, files fs.FS) error { return o.show(ctx, w, r, files) })
}

func (o ReportOptions) show(ctx context.Context, w world.World, r *report.Report, files fs.FS) error {
	if o.Job == "" {
		if o.JSON {
			return report.JSON(w.Out, r)
		}
		return Paged(ctx, w, func(out io.Writer) error { return summary.PaintedText(out, r, view.Outcomes(w.Out, w.Getenv)) })
	}
	i := slices.IndexFunc(r.Jobs, func(j report.Job) bool { return j.ID == o.Job })
	if i < 0 {
		var ids []string
		for _, j := range r.Jobs {
			ids = append(ids, j.ID)
		}
		return fault.New(event.ExitUsage, "job %q not found in the run%s", o.Job, problem.DidYouMean(o.Job, ids))
	}
	job, err := r.Jobs[i].Complete()
	if err != nil {
		return err
	}
	if o.JSON {
		return printable.WriteJSON(w.Out, job)
	}
	return Paged(ctx, w, func(out io.Writer) error {
		return summary.JobText(out, job, rundir.Patch(files, job), Painter(w))
	})
}

// alone is a format that follows from the report alone.
func alone(write func(io.Writer, *report.Report) error) func(io.Writer, *report.Report, fs.FS) error {
	return func(out io.Writer, r *report.Report, _ fs.FS) error { return write(out, r) }
}

// Run prints what write makes of a saved run.
func Run(w world.World, run string, write func(io.Writer, *report.Report, fs.FS) error) error {
	file, err := savedrun.OpenEvents(run)
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
