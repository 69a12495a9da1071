// Package checks checks what a run needs before its repositories: the plan, policies and their examples, models, tools,
// keys, the limits of the machine and the mode of the sandbox. Commands that validate or queue a plan make the same checks, except those for which something is not
// on their machine ([Here]). It also selects the jobs of the next wave of a rollout. [Run] loads the plan as well.
// Package repos opens the signing key for it. [Checked.Confine] chooses the level of the sandbox while the caller checks
// the repositories. Forges are asked only for lists of repositories (package load) and for the pull requests of a
// rollout, whose saved runs are read ([world.Rollouts]). It contacts no git remote, and opens no report directory for
// the new run.
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
	"github.com/millhand/millhand/runner/admission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// Checked has what a run checks before its repositories.
type Checked struct {
	Plan    *tasks.Plan
	Models  *models.Set
	Custom  []tools.Tool
	Key     *signing.Key      // nil if no commit is signed
	Rollout admission.Rollout // nil without one
	sandbox sandbox.Mode      // valid
	probe   *levels.Probe     // nil before it has started
}

// With returns what is checked of a plan that was made of this one, which the models, that both share, have from now on.
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
	err = c.pass(ctx, w, o, Here{Models: true, Keys: true, Sandbox: true})
	return c, err
}

// Here is what of the machines that run the jobs of a plan the one has that checks it.
type Here struct {
	Models  bool // the files of scripts and recordings
	Keys    bool // the keys and logins of providers, and those that sign commits
	Sandbox bool // the sandbox of commands
}

// Elsewhere checks a plan whose jobs another process runs, if any, and returns its models: all that [Plan] checks, except
// what requires something that is not here.
func Elsewhere(ctx context.Context, w world.World, plan *tasks.Plan, here Here) (*models.Set, error) {
	c := Checked{Plan: plan}
	err := c.pass(ctx, w, invocation.Options{}, here)
	return c.Models, err
}

// pass makes the checks of every command that runs, queues or validates a plan.
func (c *Checked) pass(ctx context.Context, w world.World, o invocation.Options, here Here) error {
	c.Models = models.Of(w, c.Plan)
	c.Models.Accounts = cmp.Or(o.Accounts, c.Models.Accounts)
	if err := errors.Join(policies.CheckExamples(w, c.Plan), c.Models.Unpriced()); err != nil {
		return err
	}
	if err := c.checkSandbox(o, here); err != nil {
		return err
	}
	if err := c.checkModels(ctx, o, here); err != nil {
		return err
	}
	var err error
	if c.Custom, err = CustomTools(c.Plan); err != nil || !here.Keys {
		return err
	}
	c.Key, err = repos.Key(ctx, w, c.Plan)
	return err
}

// checkSandbox checks the mode of the sandbox.
func (c *Checked) checkSandbox(o invocation.Options, here Here) error {
	if !here.Sandbox {
		return nil
	}
	mode, err := levels.Mode(o.Sandbox, c.Plan.Policies)
	if err != nil {
		return err
	}
	c.sandbox = sandbox.Mode(mode)
	if err := c.sandbox.Check(); err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	return nil
}

// checkModels opens the models.
func (c *Checked) checkModels(ctx context.Context, o invocation.Options, here Here) error {
	if !here.Models {
		return nil
	}
	err := c.Models.Check()
	if !here.Keys {
		return withoutKeys(err)
	}
	if err := errors.Join(err, c.Models.MayRecord(o.Record)); err != nil {
		return err
	}
	return c.Models.Found(ctx)
}

// withoutKeys returns the errors of models except those about missing keys and logins.
func withoutKeys(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var rest []error
	for _, e := range joined.Unwrap() {
		if !errors.As(e, new(*fault.KeyError)) && !errors.As(e, new(*models.LoginError)) {
			rest = append(rest, e)
		}
	}
	return errors.Join(rest...)
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
