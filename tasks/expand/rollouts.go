package expand

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// planRollout returns the rollout of the plan; nil for none. Several manifests may not differ.
func planRollout(l *loaded, drafts []*draft) *tasks.Rollout {
	var first *manifest.Rollout
	for _, m := range l.manifests {
		switch {
		case m.Rollout == nil:
		case first == nil:
			first = m.Rollout
		case tasks.Digest(m.Rollout.Rollout) != tasks.Digest(first.Rollout):
			m.Rollout.Value.KeyProblem(fmt.Sprintf("the rollout differs from the one at %s", first.Value.Position()), "state it once: it holds for all manifests of a run")
		}
	}
	if first == nil || l.Options.Overrides.NoRollout {
		return nil
	}
	checkSelection(l)
	checkCanary(first, drafts)
	checkPulls(first, l, drafts)
	checkForecast(first, drafts)
	return &first.Rollout
}

// checkSelection records flags that select jobs: the waves do.
func checkSelection(l *loaded) {
	o := l.Options.Overrides
	for _, f := range []struct {
		flag  string
		given bool
	}{{"--shard", o.Shard != (tasks.Shard{})}, {"--only", len(o.Only) > 0}, {"--limit", o.Limit > 0}, {"--sample", o.Sample > 0}} {
		if f.given {
			l.flagProblem(f.flag, "can't be combined with a rollout, which selects the jobs of its next wave", "remove it, or the key rollout")
		}
	}
}

// checkCanary records canaries that are no repository of the plan.
func checkCanary(r *manifest.Rollout, drafts []*draft) {
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
	for _, t := range r.Canaries {
		if !known[t.S] && len(names) > 0 {
			t.Problem("unknown repository "+problem.Quote(t.S)+" in canary", t.Src.Found.Suggest(t.S, names, "repositories of the plan: "))
		}
	}
}

// checkPulls records keys that count pull requests if no job creates one.
func checkPulls(r *manifest.Rollout, l *loaded, drafts []*draft) {
	creates := func(d *draft) bool { return d.job.Publish == tasks.PublishPR }
	if l.Options.Overrides.Publish != "" || len(drafts) == 0 || slices.ContainsFunc(drafts, creates) {
		return
	}
	for _, key := range []struct {
		form.Value
		valid bool
	}{{r.Conditions.AtChecks, r.Advance.Checks > 0}, {r.Conditions.AtMerged, r.Advance.Merged > 0}, {r.AtMaxOpen, r.MaxOpen > 0}, {r.AtPerHour, r.PerHour > 0}, {r.AtCIMinutes, r.CIMinutes > 0}} {
		if v := key.Value; key.valid {
			v.KeyProblem(v.Label+" counts pull requests, but no task creates them", "set publish: {mode: pr} on a task, or remove it")
		}
	}
}

// checkForecast records a bound on costs that jobs without a limit don't have.
func checkForecast(r *manifest.Rollout, drafts []*draft) {
	if r.Advance.Forecast == 0 {
		return
	}
	for _, d := range drafts {
		if d.job.Limits.CostUSD == 0 {
			r.Conditions.AtForecast.KeyProblem(fmt.Sprintf("%s requires a cost limit of each job, which task %s does not have", r.Conditions.AtForecast.Label, problem.Quote(d.task.ID.S)), "set limits: {cost: USD}")
			return
		}
	}
}
