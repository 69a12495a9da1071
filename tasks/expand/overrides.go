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

// flagValues checks what the command line sets.
type flagValues struct {
	*loaded
	models *modelNames
}

// check checks what the command line sets, other than the profile.
func (f flagValues) check() {
	o := f.Options.Overrides
	if o.Model != "" {
		m, what, fix := f.models.model(o.Model, f.Options.Dir)
		if what == "" {
			var by policy.Rule
			if by, what = f.models.refusedModel(m, f.Options.Policies.Own()); what != "" {
				what, fix = form.Refusal(what, by)
			}
		}
		if what != "" {
			f.flagProblem("--model", what, fix)
		}
		if kind, file, ok := strings.Cut(o.Model, ":"); ok && manifest.FileKind(kind) != "" && filepath.IsAbs(file) { // hashes have the name
			f.Inputs.Uses.Fixed = append(f.Inputs.Uses.Fixed, problem.Problem{File: "--model", What: problem.Quote(file) + " is an absolute path, which workers may not have", Fix: "write a relative path"})
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
			f.flagProblem(n.flag, "value out of range", n.fix)
		}
	}
	f.checkMode()
	f.checkVars()
}

// checkVars records variables of the command line that no manifest declares:
// they would change nothing.
func (f flagValues) checkVars() {
	declared := map[string]bool{}
	for _, t := range f.all() {
		for k := range t.Vars {
			declared[k] = true
		}
	}
	for _, m := range f.manifests {
		for k := range m.Vars {
			declared[k] = true
		}
	}
	known := slices.Sorted(maps.Keys(declared))
	for _, k := range slices.Sorted(maps.Keys(f.Options.Overrides.Vars)) {
		if !declared[k] && f.complete {
			f.flagProblem("--var", fmt.Sprintf("unknown variable %s", problem.Quote(k)), f.Found.Suggest(k, known, "known variables: "))
		}
	}
}

// checkMode checks the mode that the command line names.
func (f flagValues) checkMode() {
	mode := f.Options.Overrides.Publish
	const fix = "write none, patch, branch, push or pr"
	switch {
	case mode == "":
	case slices.Contains(manifest.PublishModes(), mode):
		if by, refused := f.Options.Policies.Own().Refuses(policy.Publish, string(mode)); refused {
			what, fix := form.Refusal(string(mode), by)
			f.flagProblem("--publish", what, fix)
		}
	default:
		f.flagProblem("--publish", "unknown mode "+problem.Quote(string(mode)), fix)
	}
}
