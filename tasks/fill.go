package tasks

import (
	"fmt"
	"maps"
	"strings"
)

// maxRenderedPlan bounds all texts of a plan with their variables filled in,
// in bytes.
const maxRenderedPlan = 128 << 20

// settings are what the jobs of one task have in common.
type settings struct {
	vars    map[string]string
	model   modelName
	profile profile
	limits  Limits
}

func (b *builder) settingsOf(t *task) settings {
	return settings{vars: b.varsOf(t), model: b.modelOf(t), profile: b.profileOf(t), limits: b.limitsOf(t)}
}

// fill completes a draft: every default applied, every variable filled in.
func (b *builder) fill(d *draft, with settings) {
	t, j := d.task, &d.job
	s := scope{vars: with.vars, matrix: j.Matrix, repo: j.Repo.Name, task: t.id.s, getenv: b.options.Getenv}
	j.Model, j.ModelName = with.model.full, with.model.written
	j.Profile = with.profile.Profile
	j.Agent = "build"
	j.Instructions = t.manifest.instructions
	j.Limits = with.limits
	j.Attempts, j.RequireChanges = t.attempts, t.requireChanges
	d.digest = [2]string{with.profile.digest, t.manifest.instructed}
	j.Prompt = b.render(t.prompt, s)
	for _, line := range t.setup {
		j.Setup = append(j.Setup, b.render(line, s))
	}
	for _, c := range t.verify {
		c.Run = b.render(c.run, s)
		j.Verify = append(j.Verify, c.Verify)
	}
	if !t.commit.off {
		j.Commit = b.commitOf(d, s)
	}
}

// render fills in a template. After a problem, and once the plan's texts are
// too large, it returns "".
func (b *builder) render(t template, s scope) string {
	if t.src == nil || b.rendered > maxRenderedPlan {
		return ""
	}
	out, ok := t.render(s)
	if len(t.parts) > 1 {
		b.rendered += len(out)
	}
	switch {
	case b.rendered > maxRenderedPlan:
		t.problem("the texts of the plan are larger than 128 MiB with their variables filled in", "split the plan")
	case ok && strings.TrimSpace(out) == "":
		t.problem(t.name+" is empty with its variables filled in", "give the variables values")
	}
	return out
}

// varsOf returns the variables that a task sees: its own over the manifest's,
// and those of the command line over both where they are declared.
func (b *builder) varsOf(t *task) map[string]string {
	vars := map[string]string{}
	maps.Copy(vars, t.manifest.vars)
	maps.Copy(vars, t.vars)
	for k, v := range b.options.Overrides.Vars {
		if _, declared := vars[k]; declared {
			vars[k] = v
		}
	}
	return vars
}

// limitsOf returns a task's limits. The command line lowers the number of turns
// that is written, and replaces the default.
func (b *builder) limitsOf(t *task) Limits {
	written := t.limits.over(t.manifest.limits)
	if most := b.options.Overrides.MaxTurns; most > 0 {
		written.Turns = lower(written.Turns, most)
	}
	return written.over(DefaultLimits())
}

// modelOf returns a task's model: the command line's, its own or its
// manifest's.
func (b *builder) modelOf(t *task) modelName {
	switch {
	case b.options.Overrides.Model != "":
		m, _, _ := b.found.model(b.options.Overrides.Model, b.options.Dir)
		return m
	case t.model != nil:
		return b.modelAt(*t.model)
	case t.manifest.model != nil:
		return b.modelAt(*t.manifest.model)
	case !t.modelWrong && !t.manifest.modelWrong:
		t.problem(fmt.Sprintf("the task %s has no model", quote(t.id.s)), "write model: openai/gpt-5-mini at the top of the manifest, or use --model")
	}
	return modelName{}
}

// modelAt resolves the name of a model in a manifest.
func (b *builder) modelAt(name text) modelName {
	m, what, fix := b.found.model(name.s, name.src.dir)
	if what != "" {
		name.problem(what, fix)
	}
	return m
}

// profileOf returns a task's profile: the command line's, its own or its
// manifest's.
func (b *builder) profileOf(t *task) profile {
	m := t.manifest
	written, _ := m.profiles.find(DefaultProfile)
	switch {
	case t.profile != nil:
		written = m.profileAt(*t.profile)
	case m.profile != nil:
		written = m.profileAt(*m.profile)
	}
	if p := b.override[m]; p != nil {
		return *p
	}
	return written
}

// profileAt finds a profile that a manifest names.
func (m *manifest) profileAt(name text) profile {
	p, ok := m.profiles.find(name.s)
	if !ok && m.profiles.body(name.s) == nil {
		name.problem("unknown profile "+quote(name.s), name.src.found.suggest(name.s, m.profiles.names(), "known profiles: "))
	}
	return p
}

// commitOf returns how a draft's changes are committed.
func (b *builder) commitOf(d *draft, s scope) *Commit {
	from := d.task.commit
	c := &Commit{Author: from.author, Protect: from.protect, Branch: d.branch}
	if from.message != nil {
		c.Message = b.render(*from.message, s)
	}
	if from.branch == nil {
		return c
	}
	branch, ok := from.branch.render(s)
	if ok && branch != CurrentBranch {
		if fault := branchFault(branch); fault != "" {
			from.branch.problem(quote(branch)+" is not a valid name of a branch", fault)
			ok = false
		}
	}
	c.Branch = branch
	if !ok {
		c.Branch = ""
	}
	return c
}
