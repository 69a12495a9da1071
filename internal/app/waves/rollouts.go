package waves

import (
	"context"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// Rollouts finds the next runs of rollouts. It implements [world.Rollouts].
type Rollouts struct{}

// Next returns the next run of a plan with a rollout.
func (Rollouts) Next(ctx context.Context, w world.World, plan *tasks.Plan, in world.Earlier) (next world.Wave, err error) {
	saved, err := find(w, in, plan.Name, "")
	if err == nil {
		next.Unfinished, err = saved.unfinished(plan)
	}
	if err != nil {
		return next, fault.New(event.ExitUsage, "%w; nothing was run", err)
	}
	if next.Unfinished != "" {
		return next, nil
	}
	r, err := open(ctx, w, plan, saved, true)
	if err != nil {
		return next, err
	}
	return world.Wave{Plan: plan.Wave(r.Selects), Rollout: r}, nil
}

// Resume returns the run of a plan that continues an earlier one. With ask, forges are asked for pull requests.
func (Rollouts) Resume(ctx context.Context, w world.World, plan *tasks.Plan, in world.Earlier, run *event.Run, ask bool) (same world.Wave, err error) {
	saved, err := find(w, in, run.Rollout.Name, run.ID)
	if err != nil {
		return same, fault.Wrap(event.ExitUsage, err)
	}
	r, err := open(ctx, w, plan, saved, ask)
	if err != nil {
		return same, err
	}
	r.Resume(run.Jobs)
	same.Plan = plan.Wave(r.Selects)
	if plan.Rollout != nil { // it may have been removed
		same.Rollout = r
	}
	return same, nil
}

// Outlook returns what was done of a plan before its next run. Without a rollout, only the runs that the command
// line names count.
func (Rollouts) Outlook(ctx context.Context, w world.World, plan *tasks.Plan, in world.Earlier, ask bool) (world.Outlook, error) {
	saved, err := find(w, in, plan.Name, "")
	if err != nil {
		return world.Outlook{}, fault.Wrap(event.ExitUsage, err)
	}
	if plan.Rollout == nil {
		saved.onlyNamed()
	}
	r, err := open(ctx, w, plan, saved, ask)
	if err != nil {
		return world.Outlook{}, err
	}
	all := world.Outlook{Next: plan, Forecast: r.Forecast()}
	if plan.Rollout != nil {
		all.Waves, all.Next, all.Rollout = r.Waves(), plan.Wave(r.Selects), r.Judgment()
	}
	return all, nil
}
