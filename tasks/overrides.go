package tasks

import (
	"fmt"
	"maps"
	"slices"
)

// flagProblem records a mistake on the command line.
func (b *builder) flagProblem(flag, what, fix string) {
	b.found.add(Problem{File: flag, What: what, Fix: fix})
}

// checkOverrides checks what the command line sets, other than the profile.
func (b *builder) checkOverrides() {
	o := b.options.Overrides
	if o.Model != "" {
		if _, what, fix := b.found.model(o.Model, b.options.Dir); what != "" {
			b.flagProblem("--model", what, fix)
		}
	}
	for _, n := range []struct {
		flag  string
		wrong bool
		fix   string
	}{
		{"--jobs", o.Parallel < 0 || o.Parallel > maxParallel, fmt.Sprintf("write a number from 1 to %d", maxParallel)},
		{"--max-turns", o.MaxTurns < 0, "write a number of at least 1"},
		{"--max-cost", !(o.MaxCost >= 0), "write an amount in USD, such as 5.00"},
		{"--max-time", o.MaxTime < 0, "write a duration, such as 20m"},
	} {
		if n.wrong {
			b.flagProblem(n.flag, "the number is out of range", n.fix)
		}
	}
	b.checkVars()
}

// checkVars records variables of the command line that no manifest declares:
// they would change nothing.
func (b *builder) checkVars() {
	declared := map[string]bool{}
	for _, t := range b.all() {
		for k := range t.vars {
			declared[k] = true
		}
	}
	for _, m := range b.manifests {
		for k := range m.vars {
			declared[k] = true
		}
	}
	known := slices.Sorted(maps.Keys(declared))
	for _, k := range slices.Sorted(maps.Keys(b.options.Overrides.Vars)) {
		if !declared[k] && b.complete {
			b.flagProblem("--var", fmt.Sprintf("no manifest declares the variable %s", quote(k)), b.found.suggest(k, known, "known variables: "))
		}
	}
}

// selected returns the drafts that the command line names, by the id of a task
// or of a job; all of them if it names none.
func (b *builder) selected(drafts []*draft) []*draft {
	only := b.options.Overrides.Only
	if len(only) == 0 {
		return drafts
	}
	known := slices.Sorted(maps.Keys(b.byID))
	exists := map[string]bool{}
	for _, id := range known {
		exists[id] = true
	}
	for _, d := range drafts {
		if !exists[d.job.ID] {
			exists[d.job.ID] = true
			known = append(known, d.job.ID)
		}
	}
	for _, id := range only {
		if !exists[id] && b.complete && len(drafts) > 0 {
			b.flagProblem("--only", "there is no task or job "+quote(id), b.found.suggest(id, known, "there are: "))
		}
	}
	return slices.DeleteFunc(slices.Clone(drafts), func(d *draft) bool {
		return !slices.Contains(only, d.task.id.s) && !slices.Contains(only, d.job.ID)
	})
}
