package world

import (
	"context"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/admission"
	"github.com/millhand/millhand/tasks"
)

// Rollouts finds which jobs of a rollout are next. It is an interface because the program can be built without
// package waves.
type Rollouts interface {
	// Next returns the next run of a plan with a rollout.
	Next(ctx context.Context, w World, plan *tasks.Plan, in Earlier) (Wave, error)
	// Resume returns the run of a plan that continues an earlier one. With ask, forges are asked for pull requests.
	Resume(ctx context.Context, w World, plan *tasks.Plan, in Earlier, run *event.Run, ask bool) (Wave, error)
	// Outlook returns what was done of a plan, with or without a rollout, before its next run.
	Outlook(ctx context.Context, w World, plan *tasks.Plan, in Earlier, ask bool) (Outlook, error)
}

// Earlier is where the earlier runs of a rollout are.
type Earlier struct {
	Dir     string   // that paths are relative to
	Reports string   // report directory; "" for the default one alone
	After   []string // runs that the command line names
}

// Wave is a run of a rollout.
type Wave struct {
	Plan       *tasks.Plan       // with the jobs of the run alone
	Rollout    admission.Rollout // nil if Unfinished is continued, or the plan has none any more
	Unfinished string            // report directory of a run that is continued instead; "" for none
}

// Outlook is what is known of a plan before its next run.
type Outlook struct {
	Waves    []admission.WaveState // nil without a rollout
	Next     *tasks.Plan           // with the jobs of the next run; all of them without a rollout
	Rollout  *event.Rollout        // what decides about the next run; nil without a rollout
	Forecast *event.Forecast       // of all jobs that have not finished; nil if nothing is forecast
}

// WithRollouts returns the code of rollouts, and refuses a plan that needs it if the program was built without.
func (w World) WithRollouts() (Rollouts, error) {
	if w.Rollouts == nil {
		return nil, fault.New(event.ExitUsage, "this program was built without rollouts, which the key rollout and --after require; nothing was run")
	}
	return w.Rollouts, nil
}
