// Package sessions continues or undoes the session of one job of a saved run at an earlier state: a fork is a run
// of its own, which starts with a copy of the conversation; a revert gives the branch the files of a turn. It runs
// no session itself: package runs starts the fork, and package runner reverts.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

// ForkOptions are the options of "millhand session fork".
type ForkOptions struct {
	savedsession.Request
	run  string // id or directory of the other run
	Opts invocation.Options
}

// Parse reads the arguments, and checks the options.
func (o *ForkOptions) Parse(args []string) error {
	switch {
	case len(args) == 0 || len(args) > 2:
		return errors.New("requires RUN, the id or the report directory of a run, and optionally JOB")
	case o.Message == "":
		return errors.New("missing --at MESSAGE: millhand session show RUN JOB prints the ids of messages")
	}
	if o.run = args[0]; len(args) == 2 {
		o.Job = args[1]
	}
	if o.Opts.Verbose {
		o.Opts.Log.Level = "debug"
	}
	return nil
}

// Fork starts a run with a job of another run, which is not changed.
func Fork(ctx context.Context, w world.World, given ForkOptions) error {
	log, err := view.New(w.Err, given.Opts.Log, w.Getenv)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	past, dir, err := savedrun.Past(given.run)
	if err != nil {
		return err
	}
	if given.Dir = dir; given.Job == "" && len(past.Run.Jobs) == 1 {
		given.Job = past.Run.Jobs[0].ID
	}
	if err := named(past.Run, given.Job, "fork"); err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("%w; nothing was run", err))
	}
	fork, err := savedsession.NewFork(past, given.Request)
	if err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("fork %s: %w; nothing was run", dir, err))
	}
	reports, err := forkReports(given.Opts.ReportDir, dir)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	o := *invocation.New()
	o.Plan.MaxCost, o.Log, o.JSON = given.Opts.Plan.MaxCost, given.Opts.Log, given.Opts.JSON
	if o, err = invocation.Resumed(o, past.Run); err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("fork %s: %w; nothing was run", dir, err))
	}
	o.ReportDir = reports
	return startFork(ctx, w, o, log, forking{past, dir, fork, true})
}

// ForkAgain starts a run once more that was forked from another one, from the conversation that it has copied. Its plan may have changed.
func ForkAgain(ctx context.Context, w world.World, o invocation.Options, past *history.Past, dir string) error {
	log, err := view.New(w.Err, o.Log, w.Getenv)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	fork, err := savedsession.Again(past, dir, tasks.BranchPrefix+"replay")
	if err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("fork %s: %w; nothing was run", dir, err))
	}
	return startFork(ctx, w, o, log, forking{past, dir, fork, false})
}

// forking is a fork with the run that it continues, whose plan has to be the same.
type forking struct {
	past *history.Past
	dir  string
	fork *savedsession.Fork
	same bool
}

// startFork starts a run with a job of another run.
func startFork(ctx context.Context, w world.World, o invocation.Options, log *view.Log, f forking) (err error) {
	id, dir := load.NewRunID(w), f.dir
	o.Record, o.Plan.Run = "", id
	if o.Prompt.Text != nil {
		if o.Plan.Prompt, err = rundir.SavedManifest(dir); err != nil {
			return fault.New(event.ExitUsage, "fork %s: %w; nothing was run", dir, err)
		}
	}
	c, err := checks.Run(ctx, w, o)
	defer c.Settle()
	if err != nil {
		return err
	}
	if f.same {
		if _, err := runs.Compare(f.past, c.Plan, false); err != nil {
			return fault.Wrap(event.ExitUsage, fmt.Errorf("fork %s: %w; nothing was run", dir, err))
		}
	}
	forked, err := f.fork.History(id)
	narrowed := c.Plan
	if err == nil {
		narrowed, err = savedsession.Narrow(c.Plan, forked.Past)
	}
	if err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("fork %s: %w; nothing was run", dir, err))
	}
	return runs.Start(ctx, w, o, c.With(narrowed), runs.Starting{
		ID: id, Log: log, History: forked, Fork: f.fork,
		Claim: func() (*rundir.Dir, error) { return rundir.Claim(ctx, o.Plan.In(w), o.ReportDir, id, w.Clock()) },
	})
}

// forkReports returns the report directory of a fork; "" for the default. That of the other
// run is refused: its files would be moved.
func forkReports(given, other string) (string, error) {
	if given == "" {
		return "", nil
	}
	abs, err := filepath.Abs(given)
	if err != nil {
		return "", err
	}
	a, errA := os.Stat(abs)
	b, errB := os.Stat(other)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return "", fmt.Errorf("--report-dir %s is that of the run to fork: choose another", given)
	}
	return abs, nil
}

// named checks that a job of a run is named, and not one of its subagents.
func named(run *event.Run, job, verb string) error {
	var names []string
	for _, j := range run.Jobs {
		if j.ID == job {
			return nil
		}
		if rest, found := strings.CutPrefix(job, j.ID+".task-"); found && !slices.ContainsFunc(run.Jobs, func(other event.PlannedJob) bool { return other.ID == job }) {
			return fmt.Errorf("%s is the session of a subagent, which belongs to a call of job %s: %s that job at a message (subagent %s)", job, j.ID, verb, rest)
		}
		names = append(names, j.ID)
	}
	list := textcut.ListOf(names, savedrun.MaxNames)
	if job == "" {
		return fmt.Errorf("the run has %d jobs: choose one of %s", len(names), list)
	}
	return fmt.Errorf("job %q not found in the run; it has %s", printable.Line(job, printable.Width), list)
}
