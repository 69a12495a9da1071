package tasks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// agent is one as a manifest has it: new, or what it changes of a built-in one.
type agent struct {
	Agent
	form.Value
	mode    string // "" if nothing is said
	prompt  template
	model   *form.Text
	profile *form.Text
	body    *profileBody // the rules of an agent's own file; nil for none
	layers  [][]writtenRule
	found   *form.Flaws // in an agent's own file; nil for one of a manifest
}

// DefaultAgent carries out a task that names none.
const DefaultAgent = "build"

// BuiltInAgents returns the agents that are always there, in the order in which
// models see them.
func BuiltInAgents() []Agent {
	review, _ := permission.Preset("review")
	return []Agent{
		{Name: DefaultAgent},
		{Name: "plan", Max: &review},
		{
			Name: "explore", Max: &review, Without: []string{"task", "todowrite", "todoread", "skill"},
			Description: "Searches the workspace and answers questions about it; changes nothing. Say what to find, and how thoroughly to look.",
		},
		{
			Name: "general", Without: []string{"todowrite", "todoread"},
			Description: "Runs a task of several steps on its own. Several can run in parallel on work that does not overlap.",
		},
	}
}

var (
	agentsForm    = form.MapOf("NAME", form.TypeOf((*agent).keys), readAgents)
	agentModeForm = form.Enum("primary", "subagent", "all")
	oneModelForm  = form.Of[form.Text]{Type: form.Type{Name: "string"}, Read: readOneModel}
)

// readAgents reads the agents of a manifest.
func readAgents(v form.Value) ([]*agent, bool) {
	var all []*agent
	entries, ok := v.Definitions()
	for _, e := range entries {
		if !form.Identifier.MatchString(e.Key.Value) {
			e.KeyProblem("invalid agent name "+problem.Quote(e.Key.Value), "use letters, digits, ., _ and -")
			continue
		}
		all = append(all, readAgent(e))
	}
	return all, ok
}

// readAgent reads one agent.
func readAgent(v form.Value) *agent {
	a := &agent{Value: v, Agent: Agent{Name: v.Key.Value}}
	a.keys().Read(v)
	return a
}

// readOneModel reads the name of a model that has no fallbacks.
func readOneModel(v form.Value) (form.Text, bool) {
	if v.IsList() {
		v.Problem("an agent must have one model, not a list", "name one; a task or the manifest may have a list")
		return form.Text{}, false
	}
	return v.Filled()
}

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

func agentTitle(name string) string { return "agent " + problem.Quote(name) }

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

// description returns by what a model chooses the agent, "" if none may. New
// agents that have one may be started, unless they say otherwise; those built
// in keep their ways.
func (a *agent) description(builtIn string, isNew bool) string {
	is := cmp.Or(a.Description, builtIn)
	switch a.mode {
	case "primary":
		return ""
	case "":
		if builtIn == "" && !isNew {
			return ""
		}
	default:
		switch {
		case is == "" && a.found != nil:
			a.Src.Found.Note(fmt.Sprintf("%s:1: %s has no description, which models need to choose it: they can't start it", a.Src.Name, agentTitle(a.Name)))
		case is == "":
			a.KeyProblem(fmt.Sprintf("%s: missing description, which models need to choose it", agentTitle(a.Name)), "add description: TEXT, or mode: primary")
		}
	}
	return is
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

func (a *agent) keys() form.Table {
	return append(form.Table{
		{Name: "description", Field: form.Into(&a.Description, form.String), Doc: "When to use the agent; models that may start it read this"},
		{Name: "prompt", Field: form.Into(&a.prompt, agentPromptForm), Doc: "System prompt that replaces the built-in one"},
		{Name: "mode", Field: form.Into(&a.mode, agentModeForm), Doc: "primary: for tasks only; subagent or all: models may start it"},
		{Name: "model", Field: form.Into(&a.model, form.Optional(oneModelForm)), Doc: "Model (the task's if absent)"},
		{Name: "profile", Field: form.Into(&a.profile, form.Optional(form.Filled)), Doc: "Profile that limits the task's profile"},
		{Name: "turns", Field: form.Into(&a.Turns, form.Positive()), Doc: "Model requests of the agent (the task's limit if absent)"},
	}, samplingKeys(&a.Sampling)...)
}
