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
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/models"
	"github.com/millhand/millhand/internal/printable"
	"github.com/millhand/millhand/internal/reportdir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
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
			&cli.StringFlag{Name: "record", Usage: "write every exchange with a model into this file, for replay:FILE"},
			&cli.BoolFlag{Name: "fail-fast", Usage: "begin no more jobs after the first that fails"},
			&cli.IntFlag{Name: "max-failures", Usage: "begin no more jobs after so many that fail", DefaultText: "any number"},
			&cli.StringFlag{Name: "fail-on", Usage: "exit with a code other than 0 on: any, all, verify, policy, never (policy stops, credentials and faults always count)", Value: "any"},
			// Of later releases: known, so that they are refused by name.
			&cli.BoolFlag{Name: "only-failed", Hidden: true}, &cli.StringFlag{Name: "resume", Hidden: true},
		),
		Action: func(c *cli.Context) error { return runManifests(c, w) },
	}
}

// runManifests is the main job: check everything, run, write the reports.
func runManifests(c *cli.Context, w World) error {
	if err := refuseLater(c); err != nil {
		return err
	}
	log, err := view.New(w.Err, view.Options{Format: c.String("log-format"), Level: c.String("log-level"), Quiet: c.Bool("quiet")}, w.Getenv)
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	failOn, err := event.ParseFailOn(c.String("fail-on"))
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	mostFailures, err := maxFailures(c)
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
	level, err := chooseLevel(c.Context, c.String("sandbox"), runner.UsesBash(plan))
	if err != nil {
		return err
	}
	set := models.New(plan, w.Getenv, w.Now)
	if err := errors.Join(set.Check(), set.MayRecord(c.String("record"))); err != nil {
		return err
	}
	custom, err := customTools(plan)
	if err != nil {
		return err
	}
	id := runID(w)
	out, err := claimReportDir(c.String("report-dir"), id, w)
	if err != nil {
		return failure{event.ExitUsage, err}
	}
	defer out.close()
	ctx := c.Context
	if plan.Budget.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, plan.Budget.Time, runner.Deadline(plan))
		defer cancel()
	}
	ready, err := preflight(ctx, w, plan, c.Bool("quiet"))
	if err != nil {
		return err
	}
	if err := out.begin(id); err != nil {
		return failure{event.ExitUsage, err}
	}
	known := secrets(w, plan, ready.Secrets())
	end, err := set.Begin([]model.Place{{Name: "work", Value: out.work}, {Name: "reports", Value: out.path}, {Name: "run", Value: id}}, func(text string) string { return cleaned(known, text) }, c.String("record"))
	if err != nil {
		return err
	}
	defer func() {
		if err := end(); err != nil {
			fmt.Fprintln(w.Err, printable.Text(fmt.Sprintf("millhand: the recording is incomplete: %v", err)))
		}
	}()
	return out.carryOut(ctx, w, plan, runner.Options{
		RunID: id, Version: version(), Keep: c.Bool("keep"), Git: gitEnv(w), Ready: ready, Level: level, Sandbox: level.State(),
		Caches: cacheDir(w),
		Getenv: w.Getenv, Redact: known, Now: w.Now, OpenModel: set.Open, Facts: models.Facts, Custom: custom, MaxFailures: mostFailures, FailOn: failOn,
	}, log, slices.Concat(plan.Notes, set.Warnings()))
}

// chooseLevel finds out how far this machine can confine commands, and refuses
// what the mode does not leave to be run.
func chooseLevel(ctx context.Context, mode string, shell bool) (sandbox.Level, error) {
	m := sandbox.Mode(mode)
	if !slices.Contains(sandbox.Modes(), m) {
		return sandbox.None, fail(event.ExitUsage, "there is no sandbox mode %q; the modes are %v", mode, sandbox.Modes())
	}
	var found sandbox.Found
	if m == sandbox.Auto || m == sandbox.Require {
		found = sandbox.Probe(ctx, "")
	}
	level, err := sandbox.Choose(m, shell, found)
	if err == nil && level == sandbox.Partial {
		err = sandbox.Adopt()
	}
	if err != nil {
		return level, failure{event.ExitPolicy, err}
	}
	return level, nil
}

// maxFailures reads after how many failures no more jobs are begun.
func maxFailures(c *cli.Context) (int, error) {
	most := c.Int("max-failures")
	if c.IsSet("max-failures") && most < 1 {
		return 0, fail(event.ExitUsage, "--max-failures %d: give a number above 0", most)
	}
	if c.Bool("fail-fast") {
		most = 1
	}
	return most, nil
}

// refuseLater refuses the flags that a later release will have.
func refuseLater(c *cli.Context) error {
	for _, name := range []string{"only-failed", "resume"} {
		if c.IsSet(name) {
			return fail(event.ExitUsage, "--%s is not supported yet", name)
		}
	}
	return nil
}

// runID makes an id that sorts by time and is never given twice.
func runID(w World) string {
	var b [4]byte
	rand.Read(b[:])
	return w.Now().UTC().Format("20060102-150405-") + hex.EncodeToString(b[:])
}

// reportDir is a run's report directory, held by a lock.
type reportDir struct {
	path   string
	now    func() time.Time
	lock   *dirLock
	made   bool     // by this run
	events *os.File // once the run has begun

	work    string // private folder for worktrees
	working *dirLock
}

// claimReportDir keeps every other run out of a report directory that the
// caller names. The default one, which is this run's alone, is not made before
// the run begins.
func claimReportDir(path, id string, w World) (*reportDir, error) {
	if path == "" {
		abs, err := filepath.Abs(filepath.Join(".millhand", "runs", id))
		if err != nil {
			return nil, fmt.Errorf("make a report directory: %w", err)
		}
		return &reportDir{path: abs, now: w.Now}, nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("make the report directory %s: %w", path, err)
	}
	d := &reportDir{path: abs, now: w.Now}
	return d, d.claim(id)
}

func (d *reportDir) claim(id string) error {
	_, err := os.Stat(d.path)
	d.made = errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return fmt.Errorf("make the report directory: %w; nothing was run", err)
	}
	d.lock, err = lockDir(d.path, id, d.now())
	return err
}

// begin makes what the run writes into. What an earlier run left in the
// directory is moved aside, not lost.
func (d *reportDir) begin(id string) error {
	if d.lock == nil {
		if err := d.claim(id); err != nil {
			return err
		}
		// Keep git from seeing the runs; that it can't be written is no fault.
		os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(d.path)), ".gitignore"), []byte("*\n"), 0o644) //nolint:errcheck // see above
	}
	if err := setAside(d.path, id); err != nil {
		return err
	}
	events, err := os.OpenFile(filepath.Join(d.path, "events.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("write into the report directory: %w; nothing was run", err)
	}
	d.events = events
	// Of the same length in every run, lest outputs that name it differ in size.
	work := filepath.Join(os.TempDir(), "millhand-"+id[strings.LastIndexByte(id, '-')+1:])
	err = os.Mkdir(work, 0o700)
	if err == nil {
		d.work, err = filepath.EvalSymlinks(work)
	}
	if err == nil {
		d.working, err = lockDir(d.work, id, d.now())
	}
	if err != nil {
		return fmt.Errorf("make a directory for worktrees: %w; nothing was run", err)
	}
	sweep(filepath.Dir(d.work), d.now())
	for _, earlier := range []string{filepath.Join(".millhand", "runs", "*", "outputs"), filepath.Join(d.path, "earlier", "*", "outputs")} {
		found, _ := filepath.Glob(earlier)
		for _, outputs := range found {
			// What can't be removed is tried again by the next run.
			if dir, err := reportdir.Open(outputs); err == nil {
				tools.PruneOutputs(dir, d.now().Add(-outputsKept)) //nolint:errcheck // see above
				dir.Close()
			}
		}
	}
	return nil
}

// settled is how old a private directory is before it counts as left behind: one
// that was just made may not be locked yet.
const settled = time.Hour

// written lists what a run writes into its report directory.
func written() []string {
	return []string{"events.jsonl", "report.json", "junit.xml", "summary.md", "failed.txt", "sessions", "patches", "outputs", "repos"}
}

// setAside moves what an earlier run wrote into a folder of its own. Without a
// run's events, what has the name of something that a run writes is somebody
// else's, and is neither moved nor written over.
func setAside(dir, id string) error {
	var there []string
	for _, name := range written() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			there = append(there, name)
		}
	}
	switch {
	case len(there) == 0:
		return nil
	case !slices.Contains(there, "events.jsonl"):
		return fmt.Errorf("the report directory %s holds %s, which no run of millhand wrote: give another --report-dir; nothing was run", dir, strings.Join(there, ", "))
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
	if d.events != nil {
		d.events.Close()
	}
	if d.working != nil {
		d.working.close()
	}
	if d.work != "" {
		os.RemoveAll(d.work)
	}
	if d.lock == nil {
		return
	}
	if d.made && d.events == nil { // nothing was run
		os.RemoveAll(d.path)
	}
	d.lock.close()
}

// carryOut runs the plan and writes the reports.
func (d *reportDir) carryOut(ctx context.Context, w World, plan *tasks.Plan, o runner.Options, log event.Sink, warnings []string) error {
	dir, err := reportdir.Open(d.path)
	if err != nil {
		return failure{event.ExitInternal, err}
	}
	defer dir.Close()
	o.Dir, o.Work = dir, d.work
	if o.Keep {
		o.Work = filepath.Join(d.path, "work")
		if err := os.MkdirAll(o.Work, 0o755); err != nil {
			return fail(event.ExitUsage, "make a directory for worktrees: %w", err)
		}
	}
	fold := &report.Fold{}
	stream := event.NewStream(w.Now, durable(d.events), fold, log)
	o.Emit, o.Broken = withoutSecrets(o.Redact, stream.Emit), stream.Err
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
		"report.json": report.JSON, "junit.xml": report.JUnit, "summary.md": report.Markdown, "failed.txt": report.Failed,
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
