package tasks

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// planRollout returns the rollout of the plan; nil for none. Several manifests may not differ.
func planRollout(b *builder, drafts []*draft) *Rollout {
	var first *rollout
	for _, m := range b.manifests {
		switch {
		case m.rollout == nil:
		case first == nil:
			first = m.rollout
		case digest(m.rollout.Rollout) != digest(first.Rollout):
			m.rollout.KeyProblem(fmt.Sprintf("the rollout differs from the one at %s", first.Position()), "state it once: it holds for all manifests of a run")
		}
	}
	if first == nil || b.options.Overrides.NoRollout {
		return nil
	}
	checkSelection(b)
	checkCanary(first, drafts)
	checkPulls(first, b, drafts)
	checkForecast(first, drafts)
	return &first.Rollout
}

// checkSelection records flags that select jobs: the waves do.
func checkSelection(b *builder) {
	o := b.options.Overrides
	for _, f := range []struct {
		flag  string
		given bool
	}{{"--shard", o.Shard != (Shard{})}, {"--only", len(o.Only) > 0}, {"--limit", o.Limit > 0}, {"--sample", o.Sample > 0}} {
		if f.given {
			b.flagProblem(f.flag, "can't be combined with a rollout, which selects the jobs of its next wave", "remove it, or the key rollout")
		}
	}
}

// checkCanary records canaries that are no repository of the plan.
func checkCanary(r *rollout, drafts []*draft) {
	known := map[string]bool{}
	for _, d := range drafts {
		if d.unsure {
			return
		}
		known[d.job.Repo.Name] = true
	}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, t := range r.canary {
		if !known[t.S] && len(names) > 0 {
			t.Problem("unknown repository "+problem.Quote(t.S)+" in canary", t.Src.Found.Suggest(t.S, names, "repositories of the plan: "))
		}
	}
}

// checkPulls records keys that count pull requests if no job creates one.
func checkPulls(r *rollout, b *builder, drafts []*draft) {
	creates := func(d *draft) bool { return d.job.Publish == PublishPR }
	if b.options.Overrides.Publish != "" || len(drafts) == 0 || slices.ContainsFunc(drafts, creates) {
		return
	}
	for _, key := range []struct {
		form.Value
		valid bool
	}{{r.advance.checks, r.Advance.Checks > 0}, {r.advance.merged, r.Advance.Merged > 0}, {r.maxOpen, r.MaxOpen > 0}, {r.perHour, r.PerHour > 0}, {r.ciMinutes, r.CIMinutes > 0}} {
		if v := key.Value; key.valid {
			v.KeyProblem(v.Label+" counts pull requests, but no task creates them", "set publish: {mode: pr} on a task, or remove it")
		}
	}
}

// checkForecast records a bound on costs that jobs without a limit don't have.
func checkForecast(r *rollout, drafts []*draft) {
	if r.Advance.Forecast == 0 {
		return
	}
	for _, d := range drafts {
		if d.job.Limits.CostUSD == 0 {
			r.advance.forecast.KeyProblem(fmt.Sprintf("%s requires a cost limit of each job, which task %s does not have", r.advance.forecast.Label, problem.Quote(d.task.id.S)), "set limits: {cost: USD}")
			return
		}
	}
}
