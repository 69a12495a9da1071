package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/option"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/runner"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/tasks"
)

// resume continues a run in its report directory.
func resume(ctx context.Context, w world.World, o runOptions, log *view.Log) (err error) {
	dir, err := savedrun.Find(o.resume)
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	out, err := rundir.Reopen(ctx, dir, w.Clock())
	if err != nil {
		return fault.Wrap(event.ExitUsage, err)
	}
	started := false
	defer func() {
		if !started {
			out.Close()
		}
	}()
	past := &history.Past{}
	torn, err := out.Events(past.Emit)
	switch {
	case err != nil:
		return fault.New(event.ExitUsage, "resume %s: %w; nothing was run", dir, err)
	case past.Run == nil:
		return fault.New(event.ExitUsage, "resume %s: the run has no events: start it again; nothing was run", dir)
	}
	if torn > 0 {
		fmt.Fprintf(w.Err, "millhand: the last event of %s is incomplete (%s) and was removed\n", printable.Text(dir), figures.Count(torn, "byte"))
	}
	if err := sameFlags(o, past.Run); err != nil {
		return fault.New(event.ExitUsage, "resume %s: %w; nothing was run", dir, err)
	}
	if o, err = resumed(o, past.Run); err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("resume %s: %w; nothing was run", dir, err))
	}
	if o.prompt.Text != nil {
		if o.plan.Prompt, err = out.Manifest(); err != nil {
			return fault.New(event.ExitUsage, "resume %s: %w; nothing was run", dir, err)
		}
	}
	if by := o.followUp.by; by != nil {
		o.plan.Policies = append(slices.Clone(o.plan.Policies), by.policies...)
	}
	ctx, cancel := load.Timed(ctx, o.plan.MaxTime)
	defer cancel()
	c, err := checkRun(ctx, w, o)
	defer c.settle()
	if err != nil {
		return err
	}
	if err := sameWave(ctx, w, o, &c, past.Run, o.followUp == followUp{}); err != nil {
		return err
	}
	if err := runner.Narrow(c.plan, past); err != nil {
		return fault.New(event.ExitUsage, "resume %s: %w; nothing was run", dir, err)
	}
	except, err := compare(past, c.plan, o.acceptChanges)
	if err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("resume %s: %w; nothing was run", dir, err))
	}
	if err := savedrun.SameEvidence(past.Run, c.plan); err != nil {
		return err
	}
	if o.onlyFailed && past.Run.ForkedFrom != nil {
		return fault.New(event.ExitUsage, "resume %s: --only-failed can't be used with a fork, whose conversation would be lost: fork run %s again; nothing was run", dir, past.Run.ForkedFrom.Run)
	}
	order := history.Order{Except: except}
	if o.onlyFailed {
		order.Do = history.Start{}
	}
	continued, err := o.followUp.apply(past, c.plan, order)
	if err != nil {
		return err
	}
	continued.Settle()
	started = true
	return start(ctx, w, o, c, starting{id: past.Run.ID, log: log, history: continued, claim: func() (*rundir.Dir, error) { return out, nil }})
}

// followUp is another prompt for a job of a run.
type followUp struct {
	job, prompt string
	by          *following // nil unless millhand follow started it
}

// following is what millhand follow adds to a follow-up prompt; without a prompt, it continues
// one that was killed.
type following struct {
	onto     bool      // the job is rebased
	costUSD  money.USD // of this prompt; 0 for no limit
	policies []string
}

// apply returns a run that continues one job with another prompt, if there is one, and otherwise
// follows the order.
func (f followUp) apply(past *history.Past, plan *tasks.Plan, order history.Order) (history.Run, error) {
	order.KeepDescriptions = f.by != nil
	if f.job == "" && f.prompt == "" {
		return history.Decide(past, order)
	}
	if f.job == "" && len(plan.Jobs) == 1 {
		f.job = plan.Jobs[0].ID
	}
	at := slices.IndexFunc(plan.Jobs, func(j tasks.Job) bool { return j.ID == f.job })
	if at < 0 {
		return history.Run{}, fault.New(event.ExitUsage, "job %q not found in the run: name one of its jobs (millhand session list RUN); nothing was run", f.job)
	}
	prompt := history.FollowUp{Prompt: f.prompt}
	if order.Do, order.Job = prompt, f.job; f.by != nil && f.by.onto {
		order.Do = history.Rebase{FollowUp: prompt}
	}
	continued, err := history.Decide(past, order)
	if err != nil {
		return continued, fault.Wrap(event.ExitUsage, fmt.Errorf("%w; nothing was run", err))
	}
	if limits := &plan.Jobs[at].Limits; f.by != nil && f.by.costUSD > 0 {
		most := past.SpentBy(f.job).Add(f.by.costUSD)
		if limits.CostUSD == 0 || most < limits.CostUSD {
			limits.CostUSD = most
		}
	}
	return continued, nil
}

// resumed returns the options of a run that is resumed: those that it was started with,
// except for output, concurrency and the budget of the run. Without manifests among the
// arguments these are its own too, relative to the directory that it was started in.
func resumed(o runOptions, run *event.Run) (runOptions, error) {
	if run.Invocation == nil {
		return o, errors.New("the run does not say how it was started: earlier releases can't be resumed")
	}
	own := *newRunOptions()
	args, _, err := option.Read(own.fields(), run.Invocation.Args)
	if err == nil {
		err = own.parse(args)
	}
	if err != nil {
		return o, fmt.Errorf("the flags that the run was started with: %w", err)
	}
	own.log, own.json, own.invocation, own.plan.Run = o.log, o.json, run.Invocation, run.ID
	own.onlyFailed, own.acceptChanges, own.followUp = o.onlyFailed, o.acceptChanges, o.followUp
	own.plan.Sources.Recorded, own.plan.Sources.Only = run, !o.acceptChanges
	if run.ForkedFrom != nil {
		own.record = "" // of the other run
	}
	if o.plan.Parallel > 0 {
		own.plan.Parallel = o.plan.Parallel
	}
	if o.plan.MaxCost > 0 {
		own.plan.MaxCost = o.plan.MaxCost
	}
	if len(o.plan.Manifests) > 0 {
		own.plan.Manifests = o.plan.Manifests
		return own, nil
	}
	if err := os.Chdir(run.Invocation.Dir); err != nil {
		return o, fmt.Errorf("the directory that the run was started in: %w; name its manifests: millhand run MANIFEST... --resume RUN", err)
	}
	return own, nil
}

// ofThisProcess are the flags of millhand run that are not the run's.
var ofThisProcess = []string{"resume", "only-failed", "accept-changes", "jobs", "max-cost", "json", "quiet", "verbose", "log-format", "log-level"}

// sameFlags refuses flags of millhand run --resume that differ from those that the run was started
// with.
func sameFlags(o runOptions, run *event.Run) error {
	if o.invocation == nil || run.Invocation == nil {
		return nil // another command continues the run
	}
	_, now, err := option.Read(newRunOptions().fields(), o.invocation.Args)
	if err != nil {
		return err
	}
	_, then, err := option.Read(newRunOptions().fields(), run.Invocation.Args)
	if err != nil {
		return fmt.Errorf("the flags that the run was started with: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, given := then[name]; !slices.Contains(ofThisProcess, name) && (!given || was != now[name]) {
			return fmt.Errorf("a run is resumed with the flags that it was started with, and --%s is not one of them or has another value: of other flags only --jobs, --max-cost and those of the output can be given", name)
		}
	}
	return nil
}

// compare refuses a plan that is not the run's. With accept, it returns the jobs whose tasks
// differ, which are left out.
func compare(past *history.Past, plan *tasks.Plan, accept bool) (except []string, err error) {
	if past.Run.PlanHash == plan.Hash {
		return nil, nil
	}
	was := map[string]string{}
	for _, j := range past.Run.Jobs {
		was[j.ID] = j.Hash
	}
	var changed, added []string
	for _, j := range plan.Jobs {
		hash, known := was[j.ID]
		switch {
		case !known:
			added = append(added, j.ID)
		case hash != j.Hash:
			changed = append(changed, j.ID)
		}
		delete(was, j.ID)
	}
	if accept {
		return slices.Concat(changed, added), nil
	}
	var differs []string
	for _, list := range []struct {
		what string
		jobs []string
	}{{"changed", changed}, {"new", added}, {"removed", slices.Sorted(maps.Keys(was))}} {
		if len(list.jobs) > 0 {
			differs = append(differs, fmt.Sprintf("%s: %s", list.what, strings.Join(list.jobs, ", ")))
		}
	}
	if len(differs) == 0 {
		differs = []string{"what all jobs share: agents, tools, skills, providers, prices or output limits"}
	}
	return nil, fmt.Errorf("the manifest has changed since the run was started (%s): restore it, or continue the unchanged jobs with --accept-changes", strings.Join(differs, "; "))
}
