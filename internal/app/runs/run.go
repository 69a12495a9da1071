// Package runs starts runs and continues them: [Run] has package checks make the plan, and [Start] accepts one that its
// caller has checked. [Run] also resumes one, for which package history decides what is done with each job, and [Compare]
// refuses a plan that is another one. A run reserves money of daily budgets (package days), claims its report directory, checks the
// repositories (package repos), lets the runner execute the plan with its log and telemetry, writes reports and evidence, adds
// to its pull requests what its jobs have in common (package pulls), and prints the result (package result). The package
// schedules no jobs.
package runs

import (
	"cmp"
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/days"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/result"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
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
	r := newClaimed(w, o, c.With(plan), s, out)
	defer func() { r.ready.Close() }()
	level, state, err := r.check(ctx)
	if err != nil {
		return err
	}
	if err := r.begin(ctx, level); err != nil {
		return err
	}
	end, err := r.beginModels()
	if err != nil {
		return err
	}
	defer func() {
		if err := end(); err != nil {
			fmt.Fprintln(w.Err, printable.Text(fmt.Sprintf("millhand: recording incomplete: %v", err)))
		}
	}()
	return r.execute(ctx, r.runnerOptions(level, state, day))
}
