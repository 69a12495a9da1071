package checks

import (
	"context"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/waves"
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
	saved, err := waves.Find(w, o.Plan.In(w), c.Plan.Name, o.ReportDir, o.After, "")
	if err == nil {
		again, err = saved.Unfinished(c.Plan)
	}
	if err != nil {
		return "", fault.New(event.ExitUsage, "%w; nothing was run", err)
	}
	if again != "" {
		return again, nil
	}
	r, err := waves.Open(ctx, w, c.Plan, saved, true)
	if err != nil {
		return "", err
	}
	*c = c.With(c.Plan.Wave(r.Selects))
	c.Rollout = r
	return "", nil
}

// SameWave reduces a plan to the jobs of a run of a rollout that is resumed. With ask, the forge is
// asked for pull requests.
func SameWave(ctx context.Context, w world.World, o invocation.Options, c *Checked, run *event.Run, ask bool) error {
	if run.Rollout == nil {
		return nil
	}
	saved, err := waves.Find(w, o.Plan.In(w), run.Rollout.Name, o.ReportDir, o.After, run.ID)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	r, err := waves.Open(ctx, w, c.Plan, saved, ask)
	if err != nil {
		return err
	}
	r.Resume(run.Jobs)
	*c = c.With(c.Plan.Wave(r.Selects))
	if c.Plan.Rollout != nil { // it may have been removed
		c.Rollout = r
	}
	return nil
}
