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
	"github.com/millhand/millhand/internal/app/planned"
	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/repos"
	"github.com/millhand/millhand/internal/app/result"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge/credentials/apis"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/runner/agent"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/runner/site"
	"github.com/millhand/millhand/tasks"
)

// claimed is a run that has its report directory. Start calls its methods in the order that they have here: each relies
// on those before it.
type claimed struct {
	world    world.World
	options  invocation.Options
	checked  checks.Checked // before the repositories were
	starting Starting
	out      *rundir.Dir
	dir      string // that paths of the manifest are relative to
	redact   *redact.Redactor
	clients  *apis.Clients
	plan     *tasks.Plan       // from check on, with what the repositories decide
	ready    *preflight.Result // set by check
}

func newClaimed(w world.World, o invocation.Options, c checks.Checked, s Starting, out *rundir.Dir) *claimed {
	r := &claimed{world: w, options: o, checked: c, starting: s, out: out, dir: o.Plan.In(w), redact: w.Redactor(c.Plan, c.Key.Secret()), plan: c.Plan}
	r.clients = forges.Clients(w, forges.Hosts(w, r.plan, r.redact.Hold), func(text string) { fmt.Fprintln(w.Err, printable.Text(r.redact.Text(text))) })
	return r
}

// check checks the repositories, and finds the level of the sandbox meanwhile.
func (r *claimed) check(ctx context.Context) (level sandbox.Level, state sandbox.State, err error) {
	of := repos.Run{ID: r.starting.ID, History: r.starting.History, Fork: r.starting.Fork, Key: r.checked.Key, Queued: r.starting.Delivery.Name != ""}
	return r.checked.Confine(ctx, func(ctx context.Context) (err error) {
		r.plan, r.ready, err = repos.Check(ctx, r.world, r.plan, of, r.options.Log.Quiet, r.redact, r.clients)
		event.Prepare() // the probe of the sandbox is slower
		return err
	})
}

// begin writes what the report directory has before the first job, and holds back the secrets that were found.
func (r *claimed) begin(ctx context.Context, level sandbox.Level) error {
	fork := r.starting.Fork
	if r.options.Plan.Prompt != nil && (r.starting.History.Past == nil || fork != nil) {
		r.out.KeepManifest(r.redact.JSON(r.options.Plan.Prompt))
	}
	savedrun.Prove(r.out, r.plan.Evidence, r.checked.Key)
	r.out.CopyEvents(r.starting.Delivery.Record)
	if err := r.out.Begin(r.starting.ID, level, r.ready.Trees(r.plan), len(r.plan.Jobs)); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	for _, secret := range r.ready.Secrets() {
		r.redact.Hold(secret)
	}
	if fork != nil {
		if err := fork.Write(r.out.Files(), r.starting.ID, r.redact.JSON); err != nil {
			return fault.New(event.ExitUsage, "%w; nothing was run", err)
		}
	}
	repos.Sweep(ctx, r.world, r.out, r.ready, r.options.Log.Quiet)
	return nil
}

// beginModels lets the models know what differs between runs, and starts a recording, which end completes.
func (r *claimed) beginModels() (end func() error, err error) {
	r.checked.Models.Hold = r.redact.Hold
	differing := []model.Placeholder{{Name: "work", Value: r.out.Work()}, {Name: "reports", Value: r.out.Files().Path()}, {Name: "run", Value: r.starting.ID}}
	return r.checked.Models.Begin(differing, func(text string) string { return cleaned(r.redact, text) }, r.options.Record)
}

// runnerOptions returns what the runner gets, without its events.
func (r *claimed) runnerOptions(level sandbox.Level, state sandbox.State, day days.Days) runner.Options {
	o, c, s := r.options, r.checked, r.starting
	return runner.Options{
		Options: site.Options{
			RunID:      s.ID,
			Keep:       o.Keep,
			NoBaseline: o.NoBaseline,
			Git:        r.world.GitEnv(),
			Preflight:  r.ready,
			Private:    r.out.Private(r.dir, r.ready.Trees(r.plan)),
			Level:      level,
			Sandbox:    state,
			System:     cmp.Or(s.Private, sandbox.NewPrivate(r.world.System...)),
			Getenv:     r.world.Getenv,
			Redact:     r.redact,
			Now:        r.world.Now,
			History:    s.History,

			ForeignFiles: ci.ForeignFiles(r.world.Getenv),
		},
		About:     runner.About{Version: r.world.Version, Prices: c.Models.PriceTable(), StartedBy: ci.StartedBy(r.world.Getenv), Invocation: o.Invocation},
		Equipment: agent.Equipment{OpenModel: c.Models.Open, Facts: c.Models.Facts, Custom: c.Custom, Proxy: r.world.Proxy},
		Stops:     runner.Stops{MaxFailures: o.MaxFailures, Rollout: c.Rollout},
		FailOn:    o.FailOn,
		Costs:     runner.Costs{Spent: day.Set, Ledger: s.Delivery.Ledger},
		Warnings:  slices.Concat(r.plan.Notes, r.clients.Warnings(r.plan.Jobs), planned.WarnOnRunner(r.world, r.plan, action.IsLog(r.world.Err)), c.Models.Warnings(), r.ready.Warnings()),
	}
}

// execute runs the plan, writes the reports and prints the result.
func (r *claimed) execute(ctx context.Context, o runner.Options) error {
	o.Dir, o.Work, o.Trees = r.out.Files(), r.out.Work(), site.Trees{Left: r.out.Leave, Discard: r.out.Discard}
	if o.Keep {
		var err error
		if o.Work, err = r.out.WorktreeDir(); err != nil {
			return fault.New(event.ExitUsage, "create a directory for worktrees: %w", err)
		}
	}
	log, print := r.starting.Log, r.printer()
	stop := followLog(log, r.world.Dir, r.out)
	events, fold := r.out.Log(), &report.Fold{Compact: len(r.plan.Jobs) >= report.ManyJobs}
	sent, ignored := exporter(ctx, r.world, o.RunID, fold)
	defer finish(ctx, sent, log, r.world)
	sinks, folds := []event.Sink{events, fold, log, sent}, []event.Sink{fold}
	if rollout := o.Stops.Rollout; rollout != nil {
		sinks, folds = append(sinks, rollout), append(folds, rollout)
	}
	stream := event.NewStream(r.world.Now, sinks...)
	if err := r.replay(stream, folds); err != nil {
		return err
	}
	o.About.Head = events.Head
	o.Emit, o.Warnings = event.Redacted(o.Redact.JSON, stream.Emit), append(o.Warnings, ignored...)
	o.Broken = func() error { return errors.Join(events.Err(), stream.Err()) }
	described := pulls.WithPatterns(r.plan)
	exit := runner.Run(ctx, r.plan, o)
	if len(r.plan.Jobs) >= report.ManyJobs { // the reports need memory instead
		r.plan.Release()
		o.History, r.starting, r.checked = history.Run{}, Starting{}, checks.Checked{}
		o.Preflight.Release()
		debug.FreeOSMemory()
	}
	pulls.Annotate(ctx, r.world, r.clients.Open, fold.Final(), r.out.Files().FS(), described, o.Redact, r.clients.Notify)
	unwritten := r.out.Finish(ctx, o.Emit, events, fold, o.Broken)
	stop()
	result.Annotate(r.world, log, fold.Report(), r.dir)
	r.world.KeepResult(r.out.Path())
	print(r.world, fold.Report(), r.out.Path())
	result.AdviseProfiles(r.world, fold.Report()) // also with --quiet: such a job passed and did nothing
	if unwritten != nil {
		return fault.Wrap(event.Worst([]event.Exit{exit, event.ExitInternal}), unwritten)
	}
	return fault.Silent(exit)
}

// replay lets the folds of the run's events have those of earlier processes, which the stream continues.
func (r *claimed) replay(stream *event.Stream, folds []event.Sink) error {
	past, rollout := r.starting.History, r.checked.Rollout
	if past.Past == nil {
		return nil
	}
	if _, err := r.out.Events(func(e event.Event) (err error) {
		for _, fold := range folds {
			err = errors.Join(err, fold.Emit(e))
		}
		return err
	}); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	stream.Continue(past.Past.Last.Seq)
	for _, j := range r.plan.Jobs {
		if rollout != nil && !past.Done(j.ID) {
			rollout.Forget(j.ID)
		}
	}
	return nil
}

// printer returns how the result is printed.
func (r *claimed) printer() result.Printer {
	o := r.options
	switch {
	case o.Plan.Prompt != nil:
		return result.Message(o.Log.Quiet, len(o.Prompt.Setup) > 0)
	case r.starting.Print != nil:
		return r.starting.Print
	case o.JSON:
		return result.JSON(o.Log.Quiet)
	case o.Log.Quiet:
		return result.Brief
	}
	return result.Text
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
