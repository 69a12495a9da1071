package tasks

import (
	"cmp"
	"fmt"
	"slices"
)

// agent is one as a manifest has it: new, or what it changes of a built-in one.
type agent struct {
	Agent
	value
	mode    string // "" if nothing is said
	prompt  template
	model   *text
	profile *text
	body    *profileBody // the rules of an agent's own file; nil for none
	layers  [][]writtenRule
}

// DefaultAgent carries out a task that names none.
const DefaultAgent = "build"

// BuiltInAgents returns the agents that are always there, in the order in which
// models see them.
func BuiltInAgents() []Agent {
	review, _ := presetProfile("review")
	return []Agent{
		{Name: DefaultAgent},
		{Name: "plan", Max: &review.Profile},
		{
			Name: "explore", Max: &review.Profile, Without: []string{"task", "todowrite", "todoread", "skill"},
			Description: "Searches the workspace and answers questions about it; changes nothing. Say what to find, and how thoroughly to look.",
		},
		{
			Name: "general", Without: []string{"todowrite", "todoread"},
			Description: "Runs a task of several steps on its own. Several can run in parallel on work that does not overlap.",
		},
	}
}

var (
	agentsForm    = mapOf("NAME", typeOf((*agent).keys), readAgents)
	agentModeForm = enum("primary", "subagent", "all")
	oneModelForm  = form[text]{Type{Name: "string"}, readOneModel}
)

// readAgents reads the agents of a manifest.
func readAgents(v value) ([]*agent, bool) {
	var all []*agent
	entries, ok := v.definitions()
	for _, e := range entries {
		if !idForm.MatchString(e.key.Value) {
			e.keyProblem("invalid agent name "+quote(e.key.Value), "use letters, digits, ., _ and -")
			continue
		}
		all = append(all, readAgent(e))
	}
	return all, ok
}

// readAgent reads one agent.
func readAgent(v value) *agent {
	a := &agent{value: v, Agent: Agent{Name: v.key.Value}}
	a.keys().read(v)
	return a
}

// readOneModel reads the name of a model that has no fallbacks.
func readOneModel(v value) (text, bool) {
	if v.isList() {
		v.problem("an agent must have one model, not a list", "name one; a task or the manifest may have a list")
		return text{}, false
	}
	return v.filled()
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
	for _, a := range BuiltInAgents() {
		i := slices.IndexFunc(changed, func(d definition[Agent]) bool { return d.is.Name == a.Name })
		if i < 0 {
			b.agents = append(b.agents, definition[Agent]{title: agentTitle(a.Name), is: a})
			continue
		}
		b.agents = append(b.agents, changed[i])
		changed = slices.Delete(changed, i, i+1)
	}
	b.agents = append(b.agents, changed...)
}

func agentTitle(name string) string { return "agent " + quote(name) }

// defined returns an agent of a manifest over the built-in one of its name.
func (b *builder) defined(a *agent, m *manifest) definition[Agent] {
	out, builtIn := Agent{Name: a.Name}, BuiltInAgents()
	i := slices.IndexFunc(builtIn, func(b Agent) bool { return b.Name == a.Name })
	if i >= 0 {
		out = builtIn[i]
	}
	out.Description = a.description(out.Description, i < 0)
	out.Sampling, out.Turns = a.Sampling, a.Turns
	most := ""
	if a.profile != nil {
		p := m.profileAt(*a.profile)
		out.Max, most = &p.Profile, p.digest
	}
	if a.body != nil {
		a.body.check(b.names)
		most += a.narrow(&out)
	}
	if a.model != nil {
		out.Model = b.agentModel(*a.model)
	}
	if a.prompt.src != nil {
		out.Prompt = b.fromEnv(a.prompt)
	}
	model := ""
	if out.Model != nil {
		model = out.Model.Name
	}
	content := digest(out.Name, out.Description, a.prompt.s, model, out.Sampling, most, out.Turns)
	return definition[Agent]{value: a.value, title: agentTitle(out.Name), digest: content, is: out}
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
		if is == "" {
			a.keyProblem(fmt.Sprintf("%s: missing description, which models need to choose it", agentTitle(a.Name)), "add description: TEXT, or mode: primary")
		}
	}
	return is
}

// agentModel resolves an agent's model. The command line's replaces it, as
// it replaces that of all others.
func (b *builder) agentModel(name text) *Model {
	if b.options.Overrides.Model != "" {
		return nil
	}
	m := b.modelAt(name)
	return &m
}

// agentOf returns who carries out a task.
func (b *builder) agentOf(t *task) Agent {
	name := DefaultAgent
	if t.agent != nil {
		name = t.agent.s
	}
	known := make([]string, len(b.agents))
	for i, d := range b.agents {
		if d.is.Name == name {
			return d.is
		}
		known[i] = d.is.Name
	}
	if b.complete { // or else the manifest that is missing may define it
		t.agent.problem("unknown agent "+quote(name), b.found.suggest(name, known, "known agents: "))
	}
	return Agent{}
}
