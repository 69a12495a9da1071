package tasks

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// defineAgents resolves the agents of all manifests, and adds those built in.
func (b *builder) defineAgents() {
	changed := gather(b.manifests, func(m *manifest) []definition[Agent] {
		all := make([]definition[Agent], len(m.agents))
		for i, a := range m.agents {
			all[i] = b.defined(a, m)
		}
		return all
	})
	for _, m := range b.manifests { // after the notes about those that are left out
		for _, a := range m.agents {
			if found := flawsOf(b.manifests, a.Name); len(found.Faults) == 0 && (a.Description != "" && a.mode != "primary" || a.mode == "subagent") {
				found.Report(b.found)
			}
		}
	}
	for _, a := range BuiltInAgents() {
		i := slices.IndexFunc(changed, func(d definition[Agent]) bool { return d.is.Name == a.Name })
		if i < 0 {
			b.shared.agents = append(b.shared.agents, definition[Agent]{title: agentTitle(a.Name), is: a})
			continue
		}
		b.shared.agents = append(b.shared.agents, changed[i])
		changed = slices.Delete(changed, i, i+1)
	}
	b.shared.agents = append(b.shared.agents, changed...)
	b.shared.agents = slices.DeleteFunc(b.shared.agents, func(d definition[Agent]) bool { return len(flawsOf(b.manifests, d.is.Name).Faults) > 0 })
}

// flawsOf returns what is wrong with the file of an agent; nothing if it has none.
func flawsOf(manifests []*manifest, name string) (all form.Flaws) {
	for _, m := range manifests {
		for _, a := range m.agents {
			if a.Name == name && a.found != nil {
				all = form.Flaws{Notes: slices.Concat(all.Notes, a.found.Notes), Faults: slices.Concat(all.Faults, a.found.Faults)}
			}
		}
	}
	return all
}

// defined returns an agent of a manifest over the built-in one of its name. What is wrong
// with one of a file is reported when a task uses it, and before if models may start it.
func (b *builder) defined(a *agent, m *manifest) definition[Agent] {
	if a.found == nil {
		return overBuiltIn(b, a, m)
	}
	var d definition[Agent]
	late := a.Src.Forgiving(func() { d = overBuiltIn(b, a, m) })
	found := form.Flaws{Notes: slices.Concat(a.found.Notes, late.Notes), Faults: slices.Concat(a.found.Faults, late.Faults)}
	if len(found.Faults) > 0 {
		p := found.Faults[0]
		a.Src.Found.Note(fmt.Sprintf("%s:%d: the agent %s is left out: %s; %s", p.File, p.Line, problem.Quote(a.Name), p.What, p.Fix))
		d.digest += digest(a.Src.Name) // it equals no other
	}
	a.found = &found
	return d
}

// overBuiltIn is defined for an agent without what is wrong with its file.
func overBuiltIn(b *builder, a *agent, m *manifest) definition[Agent] {
	out, builtIn := Agent{Name: a.Name}, BuiltInAgents()
	i := slices.IndexFunc(builtIn, func(b Agent) bool { return b.Name == a.Name })
	if i >= 0 {
		out = builtIn[i]
	}
	out.Description = a.description(out.Description, i < 0)
	out.Sampling, out.Turns = a.Sampling, a.Turns
	most := ""
	if a.profile != nil {
		p := profileAt(m, *a.profile)
		out.Max, most = &p.Profile, p.digest
	}
	if a.body != nil {
		a.body.check(b.names)
		most += a.narrow(&out)
	}
	if a.model != nil {
		out.Model = b.agentModel(a)
	}
	if a.prompt.Src != nil {
		out.Prompt = fromEnv(b, a.prompt)
	}
	model := ""
	if out.Model != nil {
		model = out.Model.Name
	}
	content := digest(out.Name, out.Description, a.prompt.S, model, out.Sampling, most, out.Turns)
	return definition[Agent]{Value: a.Value, title: agentTitle(out.Name), digest: content, is: out}
}

// agentModel resolves an agent's model. The command line's replaces it, as
// it replaces that of all others. One in the agent's own file that can't be used is left
// out, with a note.
func (b *builder) agentModel(a *agent) *Model {
	if b.options.Overrides.Model != "" || a.found != nil && !usable(b, *a.model) {
		return nil
	}
	m := b.modelAt(*a.model)
	return &m
}

// agentOf returns who carries out a task.
func (b *builder) agentOf(t *task) Agent {
	name := DefaultAgent
	if t.agent != nil {
		name = t.agent.S
	}
	known := make([]string, len(b.shared.agents))
	for i, d := range b.shared.agents {
		if d.is.Name == name {
			flawsOf(b.manifests, name).Report(b.found)
			return d.is
		}
		known[i] = d.is.Name
	}
	if found := flawsOf(b.manifests, name); len(found.Faults) > 0 {
		found.Report(b.found)
		return Agent{}
	}
	if b.complete { // or else the manifest that is missing may define it
		t.agent.Problem("unknown agent "+problem.Quote(name), b.found.Suggest(name, known, "known agents: "))
	}
	return Agent{}
}
