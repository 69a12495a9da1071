// Package runs starts runs and continues them: [Run] has package checks make the plan, and [Start] accepts one that its
// caller has checked. [Run] also resumes one, for which package history decides what is done with each job, and [Compare]
// refuses a plan that is another one. Both reserve money of daily budgets (package days), check the repositories (package repos), open
// the report directory, let the runner execute the plan with its log and telemetry, write reports and evidence, add to
// the run's pull requests what its jobs have in common (package pulls), and print the result (package result). It
// schedules no jobs.
package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/ci"
	"github.com/millhand/millhand/internal/app/days"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/repos"
	"github.com/millhand/millhand/internal/app/result"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge/credentials/apis"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/runner/agent"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// Run checks everything, runs the plan and writes the reports.
func Run(ctx context.Context, w world.World, o invocation.Options) error {
	log, err := view.New(w.Err, o.Log, w.Getenv)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	if o.Resume != "" {
		return resume(ctx, w, o, log)
	}
	o.ID = cmp.Or(o.ID, load.NewRunID(w))
	o.Plan.Run = o.ID
	c, err := checks.Run(ctx, w, o)
	defer c.Settle()
	if err != nil {
		return err
	}
	killed, err := checks.NextWave(ctx, w, o, &c)
	if err != nil {
		return err
	}
	if killed != "" {
		return resume(ctx, w, invocation.Again(w, o, killed), log)
	}
	return Start(ctx, w, o, c, Starting{ID: o.ID, Log: log, Claim: func() (*rundir.Dir, error) { return rundir.Claim(ctx, o.Plan.In(w), o.ReportDir, o.ID, w.Clock()) }})
}

// Starting is a run that is started or resumed.
type Starting struct {
	ID      string
	Log     *view.Log
	History history.Run        // what earlier processes did; the zero value for a new run
	Fork    *savedsession.Fork // nil unless the run is forked from another
	Claim   func() (*rundir.Dir, error)
	Print   result.Printer // nil for the table, or as options choose

	Delivery Delivery         // of the queue whose job this is; the zero value for a run of this process alone
	Private  *sandbox.Private // files of the system, found for other jobs of its run; nil to search for them
}

// Delivery is what a run that executes one job of a queue shares with the processes that execute the others.
type Delivery struct {
	Name   string                                // distinct among the deliveries of the run
	Ledger money.Ledger                          // the run's budget
	Record func(line []byte, durable bool) error // stores an event of the job
}

// Start runs a plan and writes the reports.
func Start(ctx context.Context, w world.World, o invocation.Options, c checks.Checked, s Starting) error {
	proc.SetIdle(ctx, false)
	plan, day, err := days.Open(ctx, w, c.Plan, days.Run{ID: s.ID, Past: s.History.Past, Delivery: s.Delivery.Name})
	if err != nil {
		return err
	}
	c = c.With(plan)
	defer func() {
		if err := day.Close(); err != nil {
			fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
		}
	}()
	out, err := s.Claim()
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	defer savedrun.Close(w, out)
	if text := out.Unfinished(s.ID); text != "" && !o.Log.Quiet {
		fmt.Fprintln(w.Err, printable.Text("millhand: warning: "+text))
	}
	ctx, cancel := load.Timed(ctx, plan.Budget.Time)
	defer cancel()
	known := w.Redactor(plan, c.Key.Secret())
	clients := forges.Clients(w, forges.Hosts(w, plan, known.Hold), func(text string) { fmt.Fprintln(w.Err, printable.Text(known.Text(text))) })
	var ready *preflight.Result
	level, state, err := c.Confine(ctx, func(ctx context.Context) (err error) {
		plan, ready, err = repos.Check(ctx, w, plan, repos.Run{ID: s.ID, History: s.History, Fork: s.Fork, Key: c.Key, Queued: s.Delivery.Name != ""}, o.Log.Quiet, known, clients)
		event.Prepare() // the probe of the sandbox is slower
		return err
	})
	defer func() { ready.Close() }() // may be nil
	if err != nil {
		return err
	}
	trees := ready.Trees(plan)
	print := result.Printer(result.Text)
	switch {
	case o.Plan.Prompt != nil:
		print = result.Message(o.Log.Quiet, len(o.Prompt.Setup) > 0)
		if s.History.Past == nil || s.Fork != nil {
			out.KeepManifest(known.JSON(o.Plan.Prompt))
		}
	case s.Print != nil:
		print = s.Print
	case o.JSON:
		print = result.JSON(o.Log.Quiet)
	case o.Log.Quiet:
		print = result.Brief
	}
	savedrun.Prove(out, plan.Evidence, c.Key)
	out.CopyEvents(s.Delivery.Record)
	if err := out.Begin(s.ID, level, trees, len(plan.Jobs)); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	for _, secret := range ready.Secrets() {
		known.Hold(secret)
	}
	if s.Fork != nil {
		if err := s.Fork.Write(out.Files(), s.ID, known.JSON); err != nil {
			return fault.New(event.ExitUsage, "%w; nothing was run", err)
		}
	}
	repos.Sweep(ctx, w, out, ready, o.Log.Quiet)
	c.Models.Hold = known.Hold
	placeholders := []model.Placeholder{{Name: "work", Value: out.Work()}, {Name: "reports", Value: out.Files().Path()}, {Name: "run", Value: s.ID}}
	end, err := c.Models.Begin(placeholders, func(text string) string { return cleaned(known, text) }, o.Record)
	if err != nil {
		return err
	}
	defer func() {
		if err := end(); err != nil {
			fmt.Fprintln(w.Err, printable.Text(fmt.Sprintf("millhand: recording incomplete: %v", err)))
		}
	}()
	return execute(ctx, w, o.Plan.In(w), out, plan, clients, runner.Options{
		Options: site.Options{
			RunID:      s.ID,
			Keep:       o.Keep,
			NoBaseline: o.NoBaseline,
			Git:        w.GitEnv(),
			Preflight:  ready,
			Private:    out.Private(o.Plan.In(w), trees),
			Level:      level,
			Sandbox:    state,
			System:     cmp.Or(s.Private, sandbox.NewPrivate(w.System...)),
			Getenv:     w.Getenv,
			Redact:     known,
			Now:        w.Now,
			History:    s.History,

			ForeignFiles: ci.ForeignFiles(w.Getenv),
		},
		About:     runner.About{Version: w.Version, Prices: c.Models.PriceTable(), StartedBy: ci.StartedBy(w.Getenv), Invocation: o.Invocation},
		Equipment: agent.Equipment{OpenModel: c.Models.Open, Facts: c.Models.Facts, Custom: c.Custom, Proxy: w.Proxy},
		Stops:     runner.Stops{MaxFailures: o.MaxFailures, Rollout: c.Rollout},
		FailOn:    o.FailOn,
		Costs:     runner.Costs{Spent: day.Set, Ledger: s.Delivery.Ledger},
	}, s.Log, print, slices.Concat(plan.Notes, clients.Warnings(plan.Jobs), planned.WarnOnRunner(w, plan, action.IsLog(w.Err)), c.Models.Warnings(), ready.Warnings()))
}

// execute runs the plan, writes the reports and prints the result.
func execute(
	ctx context.Context, w world.World, dir string, out *rundir.Dir, plan *tasks.Plan, clients *apis.Clients, o runner.Options, log *view.Log,
	print result.Printer, warnings []string,
) error {
	o.Dir, o.Work, o.Trees = out.Files(), out.Work(), site.Trees{Left: out.Leave, Discard: out.Discard}
	if o.Keep {
		var err error
		if o.Work, err = out.WorktreeDir(); err != nil {
			return fault.New(event.ExitUsage, "create a directory for worktrees: %w", err)
		}
	}
	stop := followLog(log, w.Dir, out)
	events, fold := out.Log(), &report.Fold{Compact: len(plan.Jobs) >= report.ManyJobs}
	sent, ignored := exporter(ctx, w, o.RunID, fold)
	defer finish(ctx, sent, log, w)
	sinks := []event.Sink{events, fold, log, sent}
	past := fold.Emit
	if o.Stops.Rollout != nil {
		sinks = append(sinks, o.Stops.Rollout)
		past = func(e event.Event) error { return errors.Join(fold.Emit(e), o.Stops.Rollout.Emit(e)) }
	}
	stream := event.NewStream(w.Now, sinks...)
	if o.History.Past != nil {
		if _, err := out.Events(past); err != nil {
			return fault.Wrap(event.ExitUsage, err)
		}
		stream.Continue(o.History.Past.Last.Seq)
		for _, j := range plan.Jobs {
			if o.Stops.Rollout != nil && !o.History.Done(j.ID) {
				o.Stops.Rollout.Forget(j.ID)
			}
		}
	}
	emit := event.Redacted(o.Redact.JSON, stream.Emit)
	o.About.Head = events.Head
	o.Emit, o.Warnings = emit, append(warnings, ignored...)
	o.Broken = func() error { return errors.Join(events.Err(), stream.Err()) }
	described := pulls.WithPatterns(plan)
	exit := runner.Run(ctx, plan, o)
	if len(plan.Jobs) >= report.ManyJobs { // the reports need memory instead
		plan.Release()
		o.History = history.Run{}
		o.Preflight.Release()
		debug.FreeOSMemory()
	}
	pulls.Annotate(ctx, w, clients.Open, fold.Final(), out.Files().FS(), described, o.Redact, clients.Notify)
	unwritten := out.Finish(ctx, emit, events, fold, o.Broken)
	stop()
	result.Annotate(w, log, fold.Report(), dir)
	w.KeepResult(out.Path())
	print(w, fold.Report(), out.Path())
	result.AdviseProfiles(w, fold.Report()) // also with --quiet: such a job passed and did nothing
	if unwritten != nil {
		return fault.Wrap(event.Worst([]event.Exit{exit, event.ExitInternal}), unwritten)
	}
	return fault.Silent(exit)
}

// followLog updates the log until stop is called.
func followLog(log *view.Log, dir string, out *rundir.Dir) (stop func()) {
	ticker := time.NewTicker(250 * time.Millisecond)
	end, unwatch := log.Follow(dir, out.Path(), ticker.C), func() {}
	if log.Live() {
		unwatch = view.OnSuspend(log.Suspend)
	}
	return func() {
		unwatch()
		ticker.Stop()
		end()
	}
}
