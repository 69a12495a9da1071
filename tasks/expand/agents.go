package expand

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
	"github.com/millhand/millhand/tasks/problem"
)

// agentSet are the agents of all manifests, and those built in.
type agentSet struct {
	*loaded
	models  *modelNames
	texts   *planTexts
	defined []form.Definition[tasks.Agent]
}

// newAgents resolves the agents of all manifests, and adds those built in.
func newAgents(l *loaded, models *modelNames, texts *planTexts) *agentSet {
	s := &agentSet{loaded: l, models: models, texts: texts}
	changed := manifest.Gather(s.manifests, func(m *manifest.Manifest) []form.Definition[tasks.Agent] {
		all := make([]form.Definition[tasks.Agent], len(m.Agents))
		for i, a := range m.Agents {
			all[i] = s.define(a, m)
		}
		return all
	})
	for _, m := range s.manifests { // after the notes about those that are left out
		for _, a := range m.Agents {
			if found := flawsOf(s.manifests, a.Name); len(found.Faults) == 0 && (a.Description != "" && a.Mode != "primary" || a.Mode == "subagent") {
				found.Report(s.Found)
			}
		}
	}
	for _, a := range tasks.BuiltInAgents() {
		i := slices.IndexFunc(changed, func(d form.Definition[tasks.Agent]) bool { return d.Is.Name == a.Name })
		if i < 0 {
			s.defined = append(s.defined, form.Definition[tasks.Agent]{Title: manifest.AgentTitle(a.Name), Is: a})
			continue
		}
		s.defined = append(s.defined, changed[i])
		changed = slices.Delete(changed, i, i+1)
	}
	s.defined = append(s.defined, changed...)
	s.defined = slices.DeleteFunc(s.defined, func(d form.Definition[tasks.Agent]) bool { return len(flawsOf(s.manifests, d.Is.Name).Faults) > 0 })
	return s
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

// define returns an agent of a manifest over the built-in one of its name. What is wrong
// with one of a file is reported when a task uses it, and before if models may start it.
func (s *agentSet) define(a *manifest.Agent, m *manifest.Manifest) form.Definition[tasks.Agent] {
	if a.Flaws == nil {
		return s.overBuiltIn(a, m)
	}
	var d form.Definition[tasks.Agent]
	flaws := a.Src.Forgiving(func() { d = s.overBuiltIn(a, m) })
	found := form.Flaws{Notes: slices.Concat(a.Flaws.Notes, flaws.Notes), Faults: slices.Concat(a.Flaws.Faults, flaws.Faults)}
	if len(found.Faults) > 0 {
		p := found.Faults[0]
		a.Src.Found.Note(fmt.Sprintf("%s:%d: the agent %s is left out: %s; %s", p.File, p.Line, problem.Quote(a.Name), p.What, p.Fix))
		d.Digest += tasks.Digest(a.Src.Name) // it equals no other
	}
	a.Flaws = &found
	return d
}

// overBuiltIn is define for an agent without what is wrong with its file.
func (s *agentSet) overBuiltIn(a *manifest.Agent, m *manifest.Manifest) form.Definition[tasks.Agent] {
	out, builtIn := tasks.Agent{Name: a.Name}, tasks.BuiltInAgents()
	i := slices.IndexFunc(builtIn, func(own tasks.Agent) bool { return own.Name == a.Name })
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
		a.Body.Check(s.Names)
		most += a.Narrow(&out)
	}
	if a.ModelName != nil {
		out.Model = s.agentModel(a)
	}
	if a.Text.Src != nil {
		out.Prompt = s.texts.fromEnv(a.Text)
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
func (s *agentSet) agentModel(a *manifest.Agent) *tasks.Model {
	if s.Options.Overrides.Model != "" || a.Flaws != nil && !s.models.usable(*a.ModelName) {
		return nil
	}
	m := s.models.modelAt(*a.ModelName)
	return &m
}

// agentOf returns who carries out a task.
func (s *agentSet) agentOf(t *manifest.Task) tasks.Agent {
	name := tasks.DefaultAgent
	if t.Agent != nil {
		name = t.Agent.S
	}
	return s.named(name, t.Agent)
}

// named returns the agent with a name, which is written at a location if it is not the default.
func (s *agentSet) named(name string, at *form.Text) tasks.Agent {
	known := make([]string, len(s.defined))
	for i, d := range s.defined {
		if d.Is.Name == name {
			flawsOf(s.manifests, name).Report(s.Found)
			return d.Is
		}
		known[i] = d.Is.Name
	}
	if found := flawsOf(s.manifests, name); len(found.Faults) > 0 {
		found.Report(s.Found)
		return tasks.Agent{}
	}
	if s.complete { // or else the manifest that is missing may define it
		at.Problem("unknown agent "+problem.Quote(name), s.Found.Suggest(name, known, "known agents: "))
	}
	return tasks.Agent{}
}
