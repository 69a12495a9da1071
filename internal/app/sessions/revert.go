package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/repos"
	"github.com/millhand/millhand/internal/app/runs"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

// RevertOptions are the options of "millhand session revert".
type RevertOptions struct {
	run, job string // job is "" for the only one
	Turn     *int
	JSON     bool
}

// Parse reads the arguments, and checks the options.
func (o *RevertOptions) Parse(args []string) error {
	switch {
	case len(args) == 0 || len(args) > 2:
		return errors.New("requires RUN, the id or the report directory of a run, and optionally JOB")
	case o.Turn == nil:
		return errors.New("missing --turn N: millhand session show RUN JOB prints the turns")
	}
	if o.run = args[0]; len(args) == 2 {
		o.job = args[1]
	}
	return nil
}

// Revert reverts a job of a run.
func Revert(ctx context.Context, w world.World, given RevertOptions) error {
	r, err := savedrun.Reopen(ctx, w, given.run)
	if err != nil {
		return err
	}
	defer savedrun.Close(w, r.Out)
	if given.job == "" && len(r.Past.Run.Jobs) == 1 {
		given.job = r.Past.Run.Jobs[0].ID
	}
	if err := named(r.Past.Run, given.job, "revert"); err != nil {
		return fault.New(event.ExitUsage, "%w; nothing was changed", err)
	}
	to, err := savedsession.RevertTo(r.Past, r.Dir, given.job, *given.Turn)
	if err != nil {
		return fault.New(event.ExitUsage, "revert %s: %w; nothing was changed", r.Dir, err)
	}
	o, err := invocation.Of(r)
	if err != nil {
		return fault.New(event.ExitUsage, "revert %s: %w; nothing was changed", r.Dir, err)
	}
	plan, err := revertedPlan(ctx, w, r, o)
	if err != nil {
		return err
	}
	done, err := revert(ctx, w, r, o, plan, to)
	if err != nil {
		return err
	}
	w.KeepResult(r.Out.Path())
	if given.JSON {
		return printable.WriteJSON(w.Out, struct {
			Run string `json:"run"`
			runner.Reverted
		}{r.Past.Run.ID, done})
	}
	printReverted(w.Out, done, r.Out.Path())
	return nil
}

// revertedPlan loads the plan of the run, which must be as it was.
func revertedPlan(ctx context.Context, w world.World, r savedrun.Reopened, o invocation.Options) (*tasks.Plan, error) {
	plan, err := load.Plan(ctx, w, o.Plan)
	if err != nil {
		return nil, err
	}
	if plan, err = savedsession.Narrow(plan, r.Past); err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	if _, err := runs.Compare(r.Past, plan, false); err != nil {
		return nil, fault.New(event.ExitUsage, "revert %s: %w; nothing was changed", r.Dir, err)
	}
	return plan, nil
}

// revert reverts the job and writes the reports. No model is opened, and no remote
// contacted.
func revert(ctx context.Context, w world.World, r savedrun.Reopened, o invocation.Options, plan *tasks.Plan, to history.Run) (done runner.Reverted, err error) {
	mode, err := levels.Mode(o.Sandbox, plan.Policies)
	if err != nil {
		return done, err
	}
	level, state, err := levels.Choose(ctx, mode, false, levels.Probing(ctx, mode).End)
	if err != nil {
		return done, err
	}
	only := plan.Only(func(id string) bool { return id == to.Only() })
	key, err := repos.Key(ctx, w, only)
	if err != nil {
		return done, err
	}
	known := w.Redactor(plan, key.Secret())
	at := repos.Look(w, forges.Hosts(w, plan, known.Hold))
	at.Local, at.History, at.Signing = true, to, repos.Signing(w, key)
	ready, err := preflight.Check(ctx, only, at)
	if err != nil {
		return done, fault.New(event.ExitUsage, "%s; nothing was changed", known.Text(err.Error()))
	}
	defer ready.Close()
	rewriting := runs.Rewriting{Run: r, Options: o, Job: only, Ready: ready, Level: level, State: state, Known: known, History: to}
	err = rewriting.Do(ctx, w, func(ctx context.Context, opts runner.Options) (err error) {
		if done, err = runner.Revert(ctx, plan, opts); err != nil {
			return fault.New(event.ExitPublish, "revert job %s: %s", to.Only(), known.Text(err.Error()))
		}
		return nil
	})
	return done, err
}

// maxReverted is the maximum number of files that are printed.
const maxReverted = 50

// printReverted prints the result of a revert.
func printReverted(to io.Writer, r runner.Reverted, dir string) {
	line := func(format string, args ...any) { fmt.Fprintln(to, printable.Text(fmt.Sprintf(format, args...))) }
	state := fmt.Sprintf("turn %d", r.Turn)
	if r.Turn == 0 {
		state = "the state before the agent started"
	}
	line("reverted job %s to %s: %s changed", r.Job, state, figures.Count(len(r.Files), "file"))
	for _, name := range r.Files[:min(len(r.Files), maxReverted)] {
		line("  %s", name)
	}
	if more := len(r.Files) - maxReverted; more > 0 {
		line("  and %d more", more)
	}
	switch {
	case r.Commit != "":
		line("branch %s: %.10s, on top of %.10s", r.Branch, r.Commit, r.Previous)
	case r.Previous != "":
		line("branch %s is unchanged, at %.10s", r.Branch, r.Previous)
	}
	if r.Replaced != "" {
		line("replaced files were copied to %s", filepath.Join(dir, filepath.FromSlash(r.Replaced)))
	}
	if r.Pushed != "" {
		line("the branch on %s is not changed until the job is published again", r.Pushed)
	}
	line("the next prompt (millhand session resume) continues from there; the verify commands were not run")
}
