package expand

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// defineAgents resolves the agents of all manifests, and adds those built in.
func (b *builder) defineAgents() {
	changed := manifest.Gather(b.manifests, func(m *manifest.Manifest) []form.Definition[tasks.Agent] {
		all := make([]form.Definition[tasks.Agent], len(m.Agents))
		for i, a := range m.Agents {
			all[i] = b.defined(a, m)
		}
		return all
	})
	for _, m := range b.manifests { // after the notes about those that are left out
		for _, a := range m.Agents {
			if found := flawsOf(b.manifests, a.Name); len(found.Faults) == 0 && (a.Description != "" && a.Mode != "primary" || a.Mode == "subagent") {
				found.Report(b.Found)
			}
		}
	}
	for _, a := range tasks.BuiltInAgents() {
		i := slices.IndexFunc(changed, func(d form.Definition[tasks.Agent]) bool { return d.Is.Name == a.Name })
		if i < 0 {
			b.shared.agents = append(b.shared.agents, form.Definition[tasks.Agent]{Title: manifest.AgentTitle(a.Name), Is: a})
			continue
		}
		b.shared.agents = append(b.shared.agents, changed[i])
		changed = slices.Delete(changed, i, i+1)
	}
	b.shared.agents = append(b.shared.agents, changed...)
	b.shared.agents = slices.DeleteFunc(b.shared.agents, func(d form.Definition[tasks.Agent]) bool { return len(flawsOf(b.manifests, d.Is.Name).Faults) > 0 })
}

// flawsOf returns what is wrong with the file of an agent; nothing if it has none.
func flawsOf(manifests []*manifest.Manifest, name string) (all form.Flaws) {
	for _, m := range manifests {
		for _, a := range m.Agents {
			if a.Name == name && a.Flaws != nil {
				all = form.Flaws{Notes: slices.Concat(all.Notes, a.Flaws.Notes), Faults: slices.Concat(all.Faults, a.Flaws.Faults)}
			}
		}
	}
	return all
}

// defined returns an agent of a manifest over the built-in one of its name. What is wrong
// with one of a file is reported when a task uses it, and before if models may start it.
func (b *builder) defined(a *manifest.Agent, m *manifest.Manifest) form.Definition[tasks.Agent] {
	if a.Flaws == nil {
		return overBuiltIn(b, a, m)
	}
	var d form.Definition[tasks.Agent]
	late := a.Src.Forgiving(func() { d = overBuiltIn(b, a, m) })
	found := form.Flaws{Notes: slices.Concat(a.Flaws.Notes, late.Notes), Faults: slices.Concat(a.Flaws.Faults, late.Faults)}
	if len(found.Faults) > 0 {
		p := found.Faults[0]
		a.Src.Found.Note(fmt.Sprintf("%s:%d: the agent %s is left out: %s; %s", p.File, p.Line, problem.Quote(a.Name), p.What, p.Fix))
		d.Digest += tasks.Digest(a.Src.Name) // it equals no other
	}
	a.Flaws = &found
	return d
}

// overBuiltIn is defined for an agent without what is wrong with its file.
func overBuiltIn(b *builder, a *manifest.Agent, m *manifest.Manifest) form.Definition[tasks.Agent] {
	out, builtIn := tasks.Agent{Name: a.Name}, tasks.BuiltInAgents()
	i := slices.IndexFunc(builtIn, func(b tasks.Agent) bool { return b.Name == a.Name })
	if i >= 0 {
		out = builtIn[i]
	}
	out.Description = a.Describe(out.Description, i < 0)
	out.Sampling, out.Turns = a.Sampling, a.Turns
	most := ""
	if a.Profile != nil {
		p := profileAt(m, *a.Profile)
		out.Max, most = &p.Profile, p.Digest
	}
	if a.Body != nil {
		a.Body.Check(b.Names)
		most += a.Narrow(&out)
	}
	if a.ModelName != nil {
		out.Model = b.agentModel(a)
	}
	if a.Text.Src != nil {
		out.Prompt = fromEnv(b, a.Text)
	}
	model := ""
	if out.Model != nil {
		model = out.Model.Name
	}
	content := tasks.Digest(out.Name, out.Description, a.Text.S, model, out.Sampling, most, out.Turns)
	return form.Definition[tasks.Agent]{Value: a.Value, Title: manifest.AgentTitle(out.Name), Digest: content, Is: out}
}

// agentModel resolves an agent's model. The command line's replaces it, as
// it replaces that of all others. One in the agent's own file that can't be used is left
// out, with a note.
func (b *builder) agentModel(a *manifest.Agent) *tasks.Model {
	if b.Options.Overrides.Model != "" || a.Flaws != nil && !usable(b, *a.ModelName) {
		return nil
	}
	m := b.modelAt(*a.ModelName)
	return &m
}

// agentOf returns who carries out a task.
func (b *builder) agentOf(t *manifest.Task) tasks.Agent {
	name := tasks.DefaultAgent
	if t.Agent != nil {
		name = t.Agent.S
	}
	known := make([]string, len(b.shared.agents))
	for i, d := range b.shared.agents {
		if d.Is.Name == name {
			flawsOf(b.manifests, name).Report(b.Found)
			return d.Is
		}
		known[i] = d.Is.Name
	}
	if found := flawsOf(b.manifests, name); len(found.Faults) > 0 {
		found.Report(b.Found)
		return tasks.Agent{}
	}
	if b.complete { // or else the manifest that is missing may define it
		t.Agent.Problem("unknown agent "+problem.Quote(name), b.Found.Suggest(name, known, "known agents: "))
	}
	return tasks.Agent{}
}
