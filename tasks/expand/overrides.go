package expand

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// flagProblem records a mistake on the command line.
func (b *builder) flagProblem(flag, what, fix string) {
	b.Found.Add(problem.Problem{File: flag, What: what, Fix: fix})
}

// checkOverrides checks what the command line sets, other than the profile.
func (b *builder) checkOverrides() {
	o := b.Options.Overrides
	if o.Model != "" {
		m, what, fix := b.model(o.Model, b.Options.Dir)
		if what == "" {
			var by policy.Rule
			if by, what = b.refusedModel(m, b.Options.Policies.Own()); what != "" {
				what, fix = form.Refusal(what, by)
			}
		}
		if what != "" {
			b.flagProblem("--model", what, fix)
		}
		if kind, file, ok := strings.Cut(o.Model, ":"); ok && manifest.FileKind(kind) != "" && filepath.IsAbs(file) { // hashes have the name
			b.Inputs.Uses.Fixed = append(b.Inputs.Uses.Fixed, problem.Problem{File: "--model", What: problem.Quote(file) + " is an absolute path, which workers may not have", Fix: "write a relative path"})
		}
	}
	for _, n := range []struct {
		flag  string
		wrong bool
		fix   string
	}{
		{"--jobs", o.Parallel < 0 || o.Parallel > manifest.MaxParallel, fmt.Sprintf("write a number from 1 to %d", manifest.MaxParallel)},
		{"--max-turns", o.MaxTurns < 0, "write a number of at least 1"},
		{"--max-cost", o.MaxCost < 0, "write an amount in USD, such as 5.00"},
		{"--max-time", o.MaxTime < 0, "write a duration, such as 20m"},
		{"--limit", o.Limit < 0, "write a number of at least 1"},
		{"--sample", o.Sample < 0, "write a number of at least 1"},
		{"--shard", o.Shard != (tasks.Shard{}) && !o.Shard.Valid(), "write I/N with I from 1 to N, such as 1/4"},
	} {
		if n.wrong {
			b.flagProblem(n.flag, "value out of range", n.fix)
		}
	}
	b.checkMode()
	b.checkVars()
}

// checkVars records variables of the command line that no manifest declares:
// they would change nothing.
func (b *builder) checkVars() {
	declared := map[string]bool{}
	for _, t := range b.all() {
		for k := range t.Vars {
			declared[k] = true
		}
	}
	for _, m := range b.manifests {
		for k := range m.Vars {
			declared[k] = true
		}
	}
	known := slices.Sorted(maps.Keys(declared))
	for _, k := range slices.Sorted(maps.Keys(b.Options.Overrides.Vars)) {
		if !declared[k] && b.complete {
			b.flagProblem("--var", fmt.Sprintf("unknown variable %s", problem.Quote(k)), b.Found.Suggest(k, known, "known variables: "))
		}
	}
}
