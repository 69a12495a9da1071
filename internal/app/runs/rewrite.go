package runs

import (
	"context"
	"errors"

	"github.com/millhand/millhand/internal/app/ci"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/repos"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// Rewriting is a process of a saved run that changes what one job has committed, without a session.
type Rewriting struct {
	Run     savedrun.Reopened
	Options invocation.Options
	Job     *tasks.Plan       // the plan with only that job
	Ready   *preflight.Result // of that plan
	Level   sandbox.Level
	State   sandbox.State
	Known   *redact.Redactor
	History history.Run
}

// Do calls what changes the job, and writes the reports of the run again if it has emitted events.
func (r Rewriting) Do(ctx context.Context, w world.World, change func(context.Context, runner.Options) error) error {
	out, run := r.Run.Out, r.Run.Past.Run
	if err := savedrun.ProveAgain(ctx, w, out, run); err != nil {
		return err
	}
	trees := r.Ready.Trees(r.Job)
	if err := out.Begin(run.ID, r.Level, trees, 1); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	for _, secret := range r.Ready.Secrets() {
		r.Known.Hold(secret)
	}
	repos.Sweep(ctx, w, out, r.Ready, true)
	events, fold := out.Log(), &report.Fold{}
	if _, err := out.Events(fold.Emit); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	stream := event.NewStream(w.Now, events, fold, savedrun.Warnings{To: w.Err})
	stream.Continue(r.Run.Past.Last.Seq)
	began := false
	emit := event.Redacted(r.Known.JSON, func(e event.Event) { began = true; stream.Emit(e) })
	broken := func() error { return errors.Join(events.Err(), stream.Err()) }
	err := change(ctx, runner.Options{
		About: runner.About{Version: w.Version, StartedBy: ci.StartedBy(w.Getenv), Invocation: r.Options.Invocation, Head: events.Head}, Broken: broken,
		Options: site.Options{
			RunID:     run.ID,
			Dir:       out.Files(),
			Work:      out.Work(),
			Trees:     site.Trees{Left: out.Leave, Discard: out.Discard},
			Private:   out.Private(r.Options.Plan.In(w), trees),
			Git:       w.GitEnv(),
			Preflight: r.Ready,
			Level:     r.Level,
			Sandbox:   r.State,
			System:    sandbox.NewPrivate(w.System...),
			Getenv:    w.Getenv,
			Redact:    r.Known,
			Now:       w.Now,
			Emit:      emit,
			History:   r.History,
		},
	})
	if !began {
		return err
	}
	if unwritten := out.Finish(ctx, emit, events, fold, broken); unwritten != nil {
		return fault.Wrap(event.ExitInternal, errors.Join(err, unwritten))
	}
	return err
}
