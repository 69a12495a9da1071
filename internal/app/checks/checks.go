// Package checks checks what a run needs before its repositories: the plan, policies, models, tools, keys and the mode of the sandbox. It
// also selects the jobs of the next wave of a rollout. It contacts no remote and opens no report directory.
package checks

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/levels"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/machine"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/policies"
	"github.com/millhand/millhand/internal/app/repos"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/signing"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/runner/rollout"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// Checked has what a run checks before its repositories.
type Checked struct {
	Plan    *tasks.Plan
	Models  *models.Set
	Custom  []tools.Tool
	Key     *signing.Key     // nil if no commit is signed
	Rollout *rollout.Rollout // nil without one
	sandbox sandbox.Mode     // valid
	probe   *levels.Probe    // nil before it has started
}

// With returns what is checked of a plan that was made of this one.
func (c Checked) With(plan *tasks.Plan) Checked {
	c.Plan, c.Models.Plan = plan, plan
	return c
}

// Settle waits for the end of the probe. Its receiver is a pointer, because the one of a deferred call would
// hold another plan.
func (c *Checked) Settle() {
	if c.probe != nil {
		c.probe.End()
	}
}

// Run loads the plan, and checks everything that a run needs except repositories and the
// level of the sandbox. The caller settles the result.
func Run(ctx context.Context, w world.World, o invocation.Options) (c Checked, err error) {
	if err := machine.Check(w); err != nil { // the probe needs open files
		return c, err
	}
	probe := levels.Probing(ctx, o.Sandbox)
	plan, err := load.Listed(ctx, w, o.Plan, o.Log.Quiet)
	if err != nil {
		probe.End()
		return c, err
	}
	return Plan(ctx, w, o, plan, probe)
}

// Plan checks everything that a run of a plan needs except repositories and the level of
// the sandbox.
func Plan(ctx context.Context, w world.World, o invocation.Options, plan *tasks.Plan, probe *levels.Probe) (c Checked, err error) {
	c.probe = probe
	c.Plan, err = o.Prompt.Deliver(machine.FitJobs(plan, machine.OpenFiles(), sandbox.FreeProcesses()), o.Plan.In(w), o.Plan.Untrusted)
	if err == nil && o.Change != nil {
		c.Plan, err = o.Change(ctx, c.Plan)
	}
	if err != nil {
		return c, fault.Wrap(event.ExitUsage, err)
	}
	if err := policies.CheckExamples(w, c.Plan); err != nil {
		return c, err
	}
	mode, err := levels.Mode(o.Sandbox, c.Plan.Policies)
	if err != nil {
		return c, err
	}
	c.sandbox = sandbox.Mode(mode)
	if err := c.sandbox.Check(); err != nil {
		return c, fault.Wrap(event.ExitUsage, err)
	}
	c.Models = models.Of(w, c.Plan)
	c.Models.Accounts = cmp.Or(o.Accounts, c.Models.Accounts)
	if err := errors.Join(c.Models.Check(), c.Models.MayRecord(o.Record)); err != nil {
		return c, err
	}
	if err := c.Models.Found(ctx); err != nil {
		return c, err
	}
	if c.Custom, err = CustomTools(c.Plan); err != nil {
		return c, err
	}
	c.Key, err = repos.Key(ctx, w, c.Plan)
	return c, err
}

// Confine chooses the level of the sandbox while a preflight runs, whose context ends if the mode
// allows no level of this machine.
func (c Checked) Confine(ctx context.Context, check func(context.Context) error) (level sandbox.Level, state sandbox.State, err error) {
	during, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var refused error
	var choice sync.WaitGroup
	choice.Go(func() {
		level, state, refused = levels.Choose(ctx, string(c.sandbox), c.Plan.UsesBash() || c.Plan.StartsProcesses(), c.probe.Found)
		if refused != nil {
			stop(refused)
		}
	})
	err = check(during)
	choice.Wait()
	if refused != nil && (err == nil || ctx.Err() == nil) {
		return level, state, refused
	}
	return level, state, err
}
