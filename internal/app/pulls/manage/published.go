package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/pulls"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

// Options select pull requests of a saved run.
type Options struct {
	load.PolicyOptions
	Run  string
	Jobs []string // ids; all for none
	JSON bool
}

// Do does with the pull requests of a saved run what is ordered.
func Do(ctx context.Context, w world.World, o Options, order pulls.Order) error {
	r, err := Open(ctx, w, o, order)
	if err != nil {
		return err
	}
	defer r.Close()
	rows := r.Do(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case o.JSON:
		err = printable.WriteJSON(w.Out, struct {
			Run  string      `json:"run"`
			Jobs []pulls.Row `json:"jobs"`
		}{r.ID, rows})
	default:
		err = pulls.Print(w.Out, rows)
	}
	return cmp.Or(err, fault.Silent(pulls.Worst(rows)))
}

// Open opens a saved run. Its credentials are those of its manifests, as for
// --resume, or of the environment if they can't be read any more.
func Open(ctx context.Context, w world.World, o Options, order pulls.Order) (*pulls.Run, error) {
	saved, err := savedrun.Load(o.Run)
	if err != nil {
		return nil, err
	}
	jobs, err := pulls.Select(saved.Report.Jobs, o.Jobs)
	if err != nil {
		return nil, err
	}
	access, err := accessOf(ctx, w, saved.Dir, o.PolicyOptions)
	if err != nil {
		return nil, err
	}
	return pulls.Open(w, saved, jobs, access, order)
}

// accessOf returns a plan that has only the policies and the git hosts of a saved run: those
// of its manifests as they are now.
func accessOf(ctx context.Context, w world.World, dir string, po load.PolicyOptions) (*tasks.Plan, error) {
	past := &history.Past{}
	f, err := rundir.OpenEvents(dir)
	if err == nil {
		defer f.Close()
		_, err = event.Read(f, past.Emit)
	}
	if err != nil {
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	for i, file := range po.Policies { // not relative to the directory that the run was started in
		if po.Policies[i], err = filepath.Abs(file); err != nil {
			return nil, fault.Wrap(event.ExitUsage, err)
		}
	}
	own, unreadable := Invoked(past.Run)
	own.Plan.Policies = slices.Concat(own.Plan.Policies, po.Policies)
	opts, err := load.TaskOptions(ctx, w, own.Plan.PolicyOptions)
	if err != nil {
		return nil, err
	}
	var hosts []tasks.Forge
	if unreadable == nil && slices.Contains(own.Plan.Manifests, "-") {
		unreadable = errors.New("one was standard input")
	}
	if unreadable == nil {
		hosts, unreadable = manifest.LoadForges(ctx, own.Plan.Manifests, opts)
	}
	if unreadable != nil {
		fmt.Fprintln(w.Err, printable.Text(w.Redactor(nil).Text(fmt.Sprintf("millhand: warning: can't read the manifests of the run: %v; using only credentials of the environment", unreadable))))
	}
	return &tasks.Plan{Policies: opts.Policies, Forges: hosts}, nil
}

// Invoked returns the options that a run was started with.
func Invoked(run *event.Run) (invocation.Options, error) {
	plain := *invocation.New()
	if run == nil {
		return plain, errors.New("the run did not start")
	}
	return invocation.Resumed(plain, run)
}

// PublishOptions select jobs of a saved run to publish.
type PublishOptions struct {
	Options
	Mode   string // "" for that of each job
	DryRun bool
}

// Publish publishes the jobs of a saved run that were not published.
func Publish(ctx context.Context, w world.World, o PublishOptions) error {
	p, err := pulls.Begin(ctx, w, pulls.PublishOptions{Run: o.Run, Jobs: o.Jobs, Mode: o.Mode, DryRun: o.DryRun})
	if err != nil {
		return err
	}
	defer p.Close()
	if p.Pending() {
		dir, run := p.Saved()
		access, err := accessOf(ctx, w, dir, o.PolicyOptions)
		if err != nil {
			return err
		}
		var failOn event.FailOn
		if own, err := Invoked(run); err == nil {
			failOn = own.FailOn
		}
		if err := p.Publish(ctx, access, failOn); err != nil {
			return err
		}
	}
	result, exit := p.Result(ctx)
	if o.JSON {
		err = printable.WriteJSON(w.Out, result)
	} else {
		err = p.Print(w.Out)
	}
	return cmp.Or(err, fault.Silent(exit))
}
