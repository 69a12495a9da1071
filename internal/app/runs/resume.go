package runs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/app/checks"
	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/invocation"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/savedrun"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/rundir"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/view"
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
)

// resume continues a run in its report directory.
func resume(ctx context.Context, w world.World, o invocation.Options, log *view.Log) (err error) {
	dir, err := savedrun.Find(o.Resume)
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
	if err := invocation.SameFlags(o, past.Run); err != nil {
		return fault.New(event.ExitUsage, "resume %s: %w; nothing was run", dir, err)
	}
	if o, err = invocation.Resumed(o, past.Run); err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("resume %s: %w; nothing was run", dir, err))
	}
	if o.Prompt.Text != nil {
		if o.Plan.Prompt, err = out.Manifest(); err != nil {
			return fault.New(event.ExitUsage, "resume %s: %w; nothing was run", dir, err)
		}
	}
	if by := o.FollowUp.By; by != nil {
		o.Plan.Policies = append(slices.Clone(o.Plan.Policies), by.Policies...)
	}
	ctx, cancel := load.Timed(ctx, o.Plan.MaxTime)
	defer cancel()
	c, err := checks.Run(ctx, w, o)
	defer c.Settle()
	if err != nil {
		return err
	}
	if err := checks.SameWave(ctx, w, o, &c, past.Run, o.FollowUp == invocation.FollowUp{}); err != nil {
		return err
	}
	narrowed, err := savedsession.Narrow(c.Plan, past)
	if err != nil {
		return fault.New(event.ExitUsage, "resume %s: %w; nothing was run", dir, err)
	}
	c = c.With(narrowed)
	except, err := Compare(past, c.Plan, o.AcceptChanges)
	if err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("resume %s: %w; nothing was run", dir, err))
	}
	if err := savedrun.SameEvidence(past.Run, c.Plan); err != nil {
		return err
	}
	if o.OnlyFailed && past.Run.ForkedFrom != nil {
		return fault.New(event.ExitUsage, "resume %s: --only-failed can't be used with a fork, whose conversation would be lost: fork run %s again; nothing was run", dir, past.Run.ForkedFrom.Run)
	}
	order := history.Order{Except: except}
	if o.OnlyFailed {
		order.Do = history.Start{}
	}
	plan, continued, err := followUp(o.FollowUp, past, c.Plan, order)
	if err != nil {
		return err
	}
	c = c.With(plan)
	started = true
	return Start(ctx, w, o, c, Starting{ID: past.Run.ID, Log: log, History: continued.Settle(), Claim: func() (*rundir.Dir, error) { return out, nil }})
}

// followUp returns a run that continues one job with another prompt, if there is one, and otherwise
// follows the order; and the plan, with the limit of that prompt.
func followUp(f invocation.FollowUp, past *history.Past, plan *tasks.Plan, order history.Order) (*tasks.Plan, history.Run, error) {
	order.KeepDescriptions, order.Foreign = f.By != nil, f.By != nil
	if f.Job == "" && f.Prompt == "" {
		continued, err := history.Decide(past, order)
		return plan, continued, err
	}
	if f.Job == "" && len(plan.Jobs) == 1 {
		f.Job = plan.Jobs[0].ID
	}
	if !slices.ContainsFunc(plan.Jobs, func(j tasks.Job) bool { return j.ID == f.Job }) {
		return nil, history.Run{}, fault.New(event.ExitUsage, "job %q not found in the run: name one of its jobs (millhand session list RUN); nothing was run", f.Job)
	}
	prompt := history.FollowUp{Prompt: f.Prompt}
	if order.Do, order.Job = prompt, f.Job; f.By != nil && f.By.Onto {
		order.Do = history.Rebase{FollowUp: prompt}
	}
	continued, err := history.Decide(past, order)
	if err != nil {
		return nil, continued, fault.Wrap(event.ExitUsage, fmt.Errorf("%w; nothing was run", err))
	}
	if f.By != nil && f.By.CostUSD > 0 {
		plan = plan.WithJobCost(past.SpentBy(f.Job).Add(f.By.CostUSD), func(id string) bool { return id == f.Job })
	}
	return plan, continued, nil
}

// Compare refuses a plan that is not the run's. With accept, it returns the jobs whose tasks
// differ, which are left out.
func Compare(past *history.Past, plan *tasks.Plan, accept bool) (except []string, err error) {
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
