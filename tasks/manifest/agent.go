package manifest

import (
	"cmp"
	"fmt"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest/profiles"
	"github.com/millhand/millhand/tasks/problem"
	"github.com/millhand/millhand/tasks/template"
)

// Agent is one as a manifest has it: new, or what it changes of a built-in one.
type Agent struct {
	tasks.Agent
	form.Value
	Mode      string // "" if nothing is said
	Text      template.Template
	ModelName *form.Text
	Profile   *form.Text
	Body      *profiles.Body // the rules of an agent's own file; nil for none
	layers    [][]profiles.Rule
	Flaws     *form.Flaws // in an agent's own file; nil for one of a manifest
}

var (
	agentsForm    = form.MapOf("NAME", form.TypeOf((*Agent).keys), readAgents)
	agentModeForm = form.Enum("primary", "subagent", "all")
	oneModelForm  = form.Of[form.Text]{Type: form.Type{Name: "string"}, Read: readOneModel}
)

// readAgents reads the agents of a manifest.
func readAgents(v form.Value) ([]*Agent, bool) {
	var all []*Agent
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
func readAgent(v form.Value) *Agent {
	a := &Agent{Value: v, Agent: tasks.Agent{Name: v.Key.Value}}
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

// AgentTitle names an agent in messages.
func AgentTitle(name string) string { return "agent " + problem.Quote(name) }

// Describe returns by what a model chooses the agent, "" if none may. New
// agents that have one may be started, unless they say otherwise; those built
// in keep their ways.
func (a *Agent) Describe(builtIn string, isNew bool) string {
	is := cmp.Or(a.Description, builtIn)
	switch a.Mode {
	case "primary":
		return ""
	case "":
		if builtIn == "" && !isNew {
			return ""
		}
	default:
		switch {
		case is == "" && a.Flaws != nil:
			a.Src.Found.Note(fmt.Sprintf("%s:1: %s has no description, which models need to choose it: they can't start it", a.Src.Name, AgentTitle(a.Name)))
		case is == "":
			a.KeyProblem(fmt.Sprintf("%s: missing description, which models need to choose it", AgentTitle(a.Name)), "add description: TEXT, or mode: primary")
		}
	}
	return is
}

func (a *Agent) keys() form.Table {
	return append(form.Table{
		{Name: "description", Field: form.Into(&a.Description, form.String), Doc: "When to use the agent; models that may start it read this"},
		{Name: "prompt", Field: form.Into(&a.Text, template.AgentPromptForm), Doc: "System prompt that replaces the built-in one"},
		{Name: "mode", Field: form.Into(&a.Mode, agentModeForm), Doc: "primary: for tasks only; subagent or all: models may start it"},
		{Name: "model", Field: form.Into(&a.ModelName, form.Optional(oneModelForm)), Doc: "Model (the task's if absent)"},
		{Name: "profile", Field: form.Into(&a.Profile, form.Optional(form.Filled)), Doc: "Profile that limits the task's profile"},
		{Name: "turns", Field: form.Into(&a.Turns, form.Positive()), Doc: "Model requests of the agent (the task's limit if absent)"},
	}, samplingKeys(&a.Sampling)...)
}
