package tasks

import (
	"cmp"
	"fmt"

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

func agentTitle(name string) string { return "agent " + problem.Quote(name) }

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
