package checks

import (
	"context"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// NextWave reduces a plan with a rollout to the jobs of its next run. again is the directory
// of a run to be continued instead; "" for none.
func NextWave(ctx context.Context, w world.World, o invocation.Options, c *Checked) (again string, err error) {
	if c.Plan.Rollout == nil {
		if len(o.After) > 0 {
			return "", fault.New(event.ExitUsage, "--after requires a manifest with the key rollout")
		}
		return "", nil
	}
	rollouts, err := w.WithRollouts()
	if err != nil {
		return "", err
	}
	next, err := rollouts.Next(ctx, w, c.Plan, earlier(w, o))
	if err != nil || next.Unfinished != "" {
		return next.Unfinished, err
	}
	c.reduce(next)
	return "", nil
}

// SameWave reduces a plan to the jobs of a run of a rollout that is resumed. With ask, the forge is
// asked for pull requests.
func SameWave(ctx context.Context, w world.World, o invocation.Options, c *Checked, run *event.Run, ask bool) error {
	if run.Rollout == nil {
		return nil
	}
	rollouts, err := w.WithRollouts()
	if err != nil {
		return err
	}
	same, err := rollouts.Resume(ctx, w, c.Plan, earlier(w, o), run, ask)
	if err != nil {
		return err
	}
	c.reduce(same)
	return nil
}

func earlier(w world.World, o invocation.Options) world.Earlier {
	return world.Earlier{Dir: o.Plan.In(w), Reports: o.ReportDir, After: o.After}
}

func (c *Checked) reduce(to world.Wave) {
	*c = c.With(to.Plan)
	c.Rollout = to.Rollout
}
