package savedrun

import (
	"context"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/tasks"
)

// Prove makes a run leave evidence, if its manifest has it. key signs it; nil for no
// signature.
func Prove(out *rundir.Dir, settings *tasks.Evidence, key *signing.Key) {
	switch {
	case settings == nil:
	case settings.Signed():
		out.Prove(key)
	default:
		out.Prove(nil)
	}
}

// ProveAgain is [Prove] for a saved run that gets more events.
func ProveAgain(ctx context.Context, w world.World, out *rundir.Dir, run *event.Run) error {
	if run.Evidence == nil {
		return nil
	}
	settings := &tasks.Evidence{Sign: tasks.Sign(run.Evidence.Sign)}
	var key *signing.Key
	if settings.Signed() {
		var err error
		if key, err = signing.Open(ctx, signing.SSH, w.Getenv, w.Now); err != nil {
			return fault.New(event.ExitAuth, "evidence.sign: %w; nothing was changed", err)
		}
	}
	Prove(out, settings, key)
	return nil
}

// SameEvidence refuses to resume a run with other evidence than it was started with.
func SameEvidence(run *event.Run, plan *tasks.Plan) error {
	was, is := "", ""
	if run.Evidence != nil {
		was = run.Evidence.Sign
	}
	if plan.Evidence != nil {
		is = string(plan.Evidence.Sign)
	}
	if was != is {
		return fault.New(event.ExitUsage, "evidence of the manifest has changed since the run was started: restore it; nothing was run")
	}
	return nil
}
