package runs

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
	"github.com/millhand/millhand/runner/history"
	"github.com/millhand/millhand/runner/savedsession"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// resume continues a run in its report directory.
func resume(ctx context.Context, w world.World, o Options, log *view.Log) (err error) {
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
	if err := sameFlags(o, past.Run); err != nil {
		return fault.New(event.ExitUsage, "resume %s: %w; nothing was run", dir, err)
	}
	if o, err = Resumed(o, past.Run); err != nil {
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
	c, err := CheckRun(ctx, w, o)
	defer c.Settle()
	if err != nil {
		return err
	}
	if err := SameWave(ctx, w, o, &c, past.Run, o.FollowUp == FollowUp{}); err != nil {
		return err
	}
	narrowed, err := savedsession.Narrow(c.Plan, past)
	if err != nil {
		return fault.New(event.ExitUsage, "resume %s: %w; nothing was run", dir, err)
	}
	c = c.With(narrowed)
	except, err := Compare(past, c.Plan, o.acceptChanges)
	if err != nil {
		return fault.Wrap(event.ExitUsage, fmt.Errorf("resume %s: %w; nothing was run", dir, err))
	}
	if err := savedrun.SameEvidence(past.Run, c.Plan); err != nil {
		return err
	}
	if o.onlyFailed && past.Run.ForkedFrom != nil {
		return fault.New(event.ExitUsage, "resume %s: --only-failed can't be used with a fork, whose conversation would be lost: fork run %s again; nothing was run", dir, past.Run.ForkedFrom.Run)
	}
	order := history.Order{Except: except}
	if o.onlyFailed {
		order.Do = history.Start{}
	}
	plan, continued, err := o.FollowUp.apply(past, c.Plan, order)
	if err != nil {
		return err
	}
	c = c.With(plan)
	started = true
	return Start(ctx, w, o, c, Starting{ID: past.Run.ID, Log: log, History: continued.Settle(), Claim: func() (*rundir.Dir, error) { return out, nil }})
}

// FollowUp is another prompt for a job of a run.
type FollowUp struct {
	Job, Prompt string
	By          *Following // nil unless millhand follow started it
}

// Following is what millhand follow adds to a follow-up prompt; without a prompt, it continues
// one that was killed.
type Following struct {
	Onto     bool      // the job is rebased
	CostUSD  money.USD // of this prompt; 0 for no limit
	Policies []string
}

// apply returns a run that continues one job with another prompt, if there is one, and otherwise
// follows the order; and the plan, with the limit of that prompt.
func (f FollowUp) apply(past *history.Past, plan *tasks.Plan, order history.Order) (*tasks.Plan, history.Run, error) {
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

// Resumed returns the options of a run that is resumed: those that it was started with,
// except for output, concurrency and the budget of the run. Without manifests among the
// arguments these are its own too, relative to the directory that it was started in.
func Resumed(o Options, run *event.Run) (Options, error) {
	if run.Invocation == nil {
		return o, errors.New("the run does not say how it was started: earlier releases can't be resumed")
	}
	own := *New()
	args, _, err := option.Read(own.Fields(), run.Invocation.Args)
	if len(o.Plan.Manifests) == 0 { // before Parse looks for a manifest that no argument names
		own.Plan.Dir = run.Invocation.Dir
		if _, err := os.Stat(own.Plan.Dir); err != nil {
			return o, fmt.Errorf("the directory that the run was started in: %w; name its manifests: millhand run MANIFEST... --resume RUN", err)
		}
	} else if own.Prompt.Text == nil {
		args = o.Plan.Manifests
	}
	if err == nil {
		err = own.Parse(args)
	}
	if err != nil {
		return o, fmt.Errorf("the flags that the run was started with: %w", err)
	}
	own.Log, own.JSON, own.Invocation, own.Plan.Run = o.Log, o.JSON, run.Invocation, run.ID
	own.onlyFailed, own.acceptChanges, own.FollowUp = o.onlyFailed, o.acceptChanges, o.FollowUp
	if own.Record != "" && own.Plan.Dir != "" {
		own.Record = form.ResolvePath(own.Plan.Dir, own.Record)
	}
	own.Plan.Sources.Recorded, own.Plan.Sources.Only = run, !o.acceptChanges
	if run.ForkedFrom != nil {
		own.Record = "" // of the other run
	}
	if o.Plan.Parallel > 0 {
		own.Plan.Parallel = o.Plan.Parallel
	}
	if o.Plan.MaxCost > 0 {
		own.Plan.MaxCost = o.Plan.MaxCost
	}
	if len(o.Plan.Manifests) > 0 {
		own.Plan.Manifests = o.Plan.Manifests
	}
	return own, nil
}

// ofThisProcess are the flags of millhand run that are not the run's.
var ofThisProcess = []string{"resume", "only-failed", "accept-changes", "jobs", "max-cost", "json", "quiet", "verbose", "log-format", "log-level"}

// sameFlags refuses flags of millhand run --resume that differ from those that the run was started
// with.
func sameFlags(o Options, run *event.Run) error {
	if o.Invocation == nil || run.Invocation == nil {
		return nil // another command continues the run
	}
	_, now, err := option.Read(New().Fields(), o.Invocation.Args)
	if err != nil {
		return err
	}
	_, then, err := option.Read(New().Fields(), run.Invocation.Args)
	if err != nil {
		return fmt.Errorf("the flags that the run was started with: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was, given := then[name]; !slices.Contains(ofThisProcess, name) && (!given || was != now[name]) {
			return fmt.Errorf("a run is resumed with the flags that it was started with, and --%s is not one of them or has another value: of other flags only "+
				"--jobs, --max-cost and those of the output can be given", name)
		}
	}
	return nil
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
