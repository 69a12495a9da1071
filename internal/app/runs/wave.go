package runs

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/waves"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/printable"
)

// nextWave reduces a plan with a rollout to the jobs of its next run. again is the directory
// of a run to be continued instead; "" for none.
func nextWave(ctx context.Context, w world.World, o Options, c *Checked) (again string, err error) {
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
	c.rollout, err = waves.Open(ctx, w, c.Plan, saved, true)
	if err != nil {
		return "", err
	}
	*c = c.With(c.Plan.Wave(c.rollout.Selects))
	return "", nil
}

// SameWave reduces a plan to the jobs of a run of a rollout that is resumed. With ask, the forge is
// asked for pull requests.
func SameWave(ctx context.Context, w world.World, o Options, c *Checked, run *event.Run, ask bool) error {
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
		c.rollout = r
	}
	return nil
}

// again returns the options that resume a run of a rollout, with the flags of this invocation
// that a resumed run accepts.
func again(w world.World, o Options, dir string) Options {
	plain := *New()
	plain.Resume, plain.Log, plain.JSON, plain.Verbose = dir, o.Log, o.JSON, o.Verbose
	plain.Plan.Dir, plain.Plan.Manifests = o.Plan.Dir, o.Plan.Manifests
	plain.Plan.Parallel, plain.Plan.MaxCost = o.Plan.Parallel, o.Plan.MaxCost
	if !o.Log.Quiet {
		fmt.Fprintln(w.Err, printable.Text(fmt.Sprintf("continuing run %s of the rollout, which was killed or interrupted", filepath.Base(dir))))
	}
	return plain
}
