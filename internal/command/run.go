package command

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
)

func runCommand(w World) *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "runs everything that manifests say", ArgsUsage: "MANIFEST...",
		Flags: append(planFlags(),
			&cli.StringFlag{Name: "report-dir", Usage: "write the reports into exactly this folder (default .millhand/runs/<run id>)"},
			&cli.StringFlag{Name: "sandbox", Value: string(sandbox.Auto), Usage: "auto, require, external or off"},
			&cli.BoolFlag{Name: "keep", Usage: "keep the worktrees"},
			&cli.BoolFlag{Name: "quiet", Usage: "print no progress"},
			&cli.StringFlag{Name: "log-format", Value: "auto", Usage: "auto, console, json or github"},
			&cli.StringFlag{Name: "log-level", Value: "info", Usage: "debug, info, warn or error"},
			// Of later releases: known, so that they are refused by name.
			&cli.StringFlag{Name: "max-profile", Hidden: true}, &cli.BoolFlag{Name: "only-failed", Hidden: true},
			&cli.StringFlag{Name: "shard", Hidden: true}, &cli.IntFlag{Name: "limit", Hidden: true}, &cli.IntFlag{Name: "sample", Hidden: true},
			&cli.StringFlag{Name: "resume", Hidden: true}, &cli.StringFlag{Name: "publish", Hidden: true},
			&cli.StringFlag{Name: "fail-on", Hidden: true}, &cli.StringFlag{Name: "record", Hidden: true},
		),
		Action: func(c *cli.Context) error { return runManifests(c, w) },
	}
}

// runManifests is the main job: check everything, run, write the reports.
func runManifests(c *cli.Context, w World) error {
	if err := refuseLater(c); err != nil {
		return err
	}
	view, err := newView(c, w)
	if err != nil {
		return err
	}
	plan, err := loadPlan(c, w)
	if err != nil {
		return err
	}
	if err := testExamples(c.Context, w, plan); err != nil {
		return err
	}
	state, err := sandbox.Resolve(sandbox.Mode(c.String("sandbox")))
	switch {
	case errors.Is(err, sandbox.ErrAbsent):
		return failure{event.ExitPolicy, err}
	case err != nil:
		return failure{event.ExitUsage, err}
	}
	models := newModels(w, plan)
	if err := models.check(); err != nil {
		return err
	}
	if err := runner.Check(c.Context, plan, gitEnv(w)); err != nil {
		return fail(event.ExitUsage, "%w; nothing was run", err)
	}
	id := runID(w)
	out, err := openReportDir(c.String("report-dir"), id)
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	defer out.close()
	return out.carryOut(c.Context, w, plan, runner.Options{
		RunID: id, Version: version(), Keep: c.Bool("keep"), Git: gitEnv(w), Sandbox: state,
		Getenv: w.Getenv, Now: w.Now, OpenModel: models.Open,
	}, view, models.warnings())
}

// refuseLater refuses the flags that a later release will have.
func refuseLater(c *cli.Context) error {
	for _, name := range []string{"max-profile", "only-failed", "shard", "limit", "sample", "resume", "fail-on", "record"} {
		if c.IsSet(name) {
			return fail(event.ExitUsage, "--%s is not supported yet", name)
		}
	}
	if p := c.String("publish"); p != "" && p != "none" {
		return fail(event.ExitUsage, "--publish %s is not supported yet", p)
	}
	return nil
}

// runID makes an id that sorts by time and is never given twice.
func runID(w World) string {
	var b [4]byte
	rand.Read(b[:])
	return w.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(b[:])
}

// reportDir is an open report directory.
type reportDir struct {
	path   string
	events *os.File
	work   string // private folder for worktrees
}

// openReportDir makes the report directory of a run. What an earlier run left
// in it is moved aside, not lost.
func openReportDir(path, id string) (*reportDir, error) {
	own := path == ""
	if own {
		path = filepath.Join(".millhand", "runs", id)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("make the report directory %s: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return nil, fmt.Errorf("make the report directory: %w; nothing was run", err)
	}
	if own {
		// Keep git from seeing the runs; that it can't be written is no fault.
		os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(abs)), ".gitignore"), []byte("*\n"), 0o644) //nolint:errcheck // see above
	}
	if err := setAside(abs, id); err != nil {
		return nil, err
	}
	events, err := os.OpenFile(filepath.Join(abs, "events.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("write into the report directory: %w; nothing was run", err)
	}
	work, err := os.MkdirTemp("", "millhand-")
	if err == nil {
		work, err = filepath.EvalSymlinks(work)
	}
	if err != nil {
		events.Close()
		return nil, fmt.Errorf("make a folder for worktrees: %w; nothing was run", err)
	}
	return &reportDir{path: abs, events: events, work: work}, nil
}

// written lists what a run writes into its report directory.
func written() []string {
	return []string{"events.jsonl", "report.json", "junit.xml", "summary.md", "sessions", "patches", "outputs", "repos"}
}

// setAside moves what an earlier run wrote into a folder of its own.
func setAside(dir, id string) error {
	if !slices.ContainsFunc(written(), func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}) {
		return nil
	}
	aside := filepath.Join(dir, "earlier", "before-"+id)
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return fmt.Errorf("keep the earlier run in %s: %w", dir, err)
	}
	for _, name := range written() {
		err := os.Rename(filepath.Join(dir, name), filepath.Join(aside, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keep the earlier run in %s: %w", dir, err)
		}
	}
	return nil
}

func (d *reportDir) close() {
	d.events.Close()
	os.RemoveAll(d.work)
}

// carryOut runs the plan and writes the reports.
func (d *reportDir) carryOut(ctx context.Context, w World, plan *tasks.Plan, o runner.Options, view event.Sink, warnings []string) error {
	o.Dir, o.Work = d.path, d.work
	if o.Keep {
		o.Work = filepath.Join(d.path, "work")
		if err := os.MkdirAll(o.Work, 0o755); err != nil {
			return fail(event.ExitUsage, "make a folder for worktrees: %w", err)
		}
	}
	fold := &report.Fold{}
	stream := event.NewStream(w.Now, durable(d.events), fold, view)
	o.Emit = stream.Emit
	o.Warnings = warnings
	exit := runner.Run(ctx, plan, o)
	rep := fold.Report()
	errs := errors.Join(stream.Err(), writeReports(d.path, rep))
	// That nobody reads the summary changes nothing: the reports are written.
	report.Text(w.Out, rep) //nolint:errcheck // see above
	fmt.Fprintf(w.Out, "\nreports: %s\n", d.path)
	if errs != nil {
		return failure{event.Worst([]event.Exit{exit, event.ExitInternal}), fmt.Errorf("the reports in %s are not complete: %w", d.path, errs)}
	}
	return exitWith(exit)
}

// durable writes events to a file and forces them to the disk where a crash
// must not lose them: at the end of each job and of the run.
func durable(f *os.File) event.Sink {
	lines := event.JSONL(f)
	return event.SinkFunc(func(e event.Event) error {
		if err := lines.Emit(e); err != nil {
			return err
		}
		if e.Type == event.JobEnded || e.Type == event.CommitMade || e.Type == event.RunEnded {
			return f.Sync()
		}
		return nil
	})
}

// formats lists the reports that a run writes.
func formats() map[string]func(io.Writer, *report.Report) error {
	return map[string]func(io.Writer, *report.Report) error{
		"report.json": report.JSON, "junit.xml": report.JUnit, "summary.md": report.Markdown,
	}
}

// writeReports writes every format, each whole or not at all.
func writeReports(dir string, rep *report.Report) error {
	var errs []error
	for name, write := range formats() {
		if err := writeWhole(filepath.Join(dir, name), func(out io.Writer) error { return write(out, rep) }); err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// writeWhole writes a file so that it appears complete: a temporary file,
// forced to the disk, renamed.
func writeWhole(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
