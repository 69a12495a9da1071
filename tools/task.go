package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed task.md
var taskDescription string

// Agent is a subagent that the task tool can start.
type Agent struct {
	Name        string
	Description string // for the model that chooses an agent
}

// SpawnRequest asks for a child session.
type SpawnRequest struct {
	Call        string // id of the requesting call
	Agent       string
	Description string // short text for people
	Prompt      string
	TaskID      string // id of a child session to continue; "" for a new one
}

// SpawnResult is the result of a child session.
type SpawnResult struct {
	TaskID  string     // id to continue the session with
	Session string     // id of the session in the record
	Text    string     // its last message
	Failed  string     // why it ended before completion; "" if it completed
	CostUSD *money.USD // of the turns that the request caused; nil if unknown
}

type taskInput struct {
	Description string `json:"description" jsonschema:"short description of the task, 3 to 5 words"`
	Prompt      string `json:"prompt" jsonschema:"complete task, with all context: the subagent does not see this conversation"`
	Subagent    string `json:"subagent_type" jsonschema:"name of the agent to use"`
	TaskID      string `json:"task_id,omitempty" jsonschema:"id of an earlier task to continue instead of starting a new one"`
}

// taskTool returns the task tool; its description lists the agents that the
// profile allows.
func taskTool(env *Env) Tool {
	var text strings.Builder
	text.WriteString(strings.TrimSpace(taskDescription))
	for _, a := range env.agents() {
		fmt.Fprintf(&text, "\n- %s: %s", a.Name, textcut.OneLine(a.Description))
	}
	all := tool.Define(Spec{Name: "task", Description: text.String() + "\n", Parallel: true, Internal: true}, prepareTask)
	return chooser{all, named(all.Spec(), agentNames(env.agents()))}
}

// chooser is the task tool with the names of agents in its offered schema. Validation does
// not know them: its error would say less than the tool's own.
type chooser struct {
	Tool
	spec Spec
}

// Spec implements Tool.
func (c chooser) Spec() Spec { return c.spec }

// named returns a specification whose subagent_type is one of some names.
func named(spec Spec, names []string) Spec {
	if len(names) == 0 {
		return spec
	}
	var values []any
	for _, name := range names {
		values = append(values, name)
	}
	spec.Schema = maps.Clone(spec.Schema)
	properties, _ := spec.Schema["properties"].(map[string]any)
	properties = maps.Clone(properties)
	name, _ := properties["subagent_type"].(map[string]any)
	name = maps.Clone(name)
	name["enum"], properties["subagent_type"] = values, name
	spec.Schema["properties"] = properties
	return spec
}

// agents lists the agents that the profile allows.
func (env *Env) agents() []Agent {
	return slices.DeleteFunc(slices.Clone(env.Agents), func(a Agent) bool { return !env.Profile.Allows("task", a.Name) })
}

func prepareTask(env *Env, in taskInput) (Pending, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return Pending{}, errors.New("prompt is empty; describe the complete task")
	}
	known := slices.ContainsFunc(env.Agents, func(a Agent) bool { return a.Name == in.Subagent })
	if !known {
		return Pending{}, fmt.Errorf("agent %q not found; available agents: %s", cut.Title(in.Subagent), strings.Join(agentNames(env.agents()), ", "))
	}
	title := in.Description
	if title == "" {
		title = in.Subagent
	}
	return Pending{Title: title, Needs: []permission.Request{permission.Need("task", in.Subagent)}, Do: func(ctx context.Context) (Result, error) {
		return runTask(ctx, env, in)
	}}, nil
}

func agentNames(agents []Agent) []string {
	var names []string
	for _, a := range agents {
		names = append(names, a.Name)
	}
	return names
}

func runTask(ctx context.Context, env *Env, in taskInput) (Result, error) {
	if env.Spawn == nil {
		return Result{}, errors.New("no subagents can be started in this session; do the work yourself")
	}
	res, err := env.Spawn(ctx, SpawnRequest{
		Call: tool.CallID(ctx), Agent: in.Subagent, Description: in.Description, Prompt: in.Prompt, TaskID: in.TaskID,
	})
	if err != nil {
		return Result{}, fmt.Errorf("start agent %s: %w", in.Subagent, err)
	}
	meta := Metadata{ChildSession: res.Session, ChildCostUSD: res.CostUSD}
	if res.Failed != "" {
		out := taskBlock(res.TaskID, "error", "task_error", res.Failed+lastMessage(res.Text))
		return Result{Output: out, Metadata: meta}, fmt.Errorf("subagent did not finish (task_id: %s): %s", res.TaskID, res.Failed)
	}
	return Result{Output: taskBlock(res.TaskID, "completed", "task_result", res.Text), Metadata: meta}, nil
}

// taskBlock formats a child session's result for the model.
func taskBlock(id, state, element, text string) string {
	return fmt.Sprintf("<task id=%q state=%q>\n<%s>\n%s\n</%s>\n</task>", id, state, element, text, element)
}

func lastMessage(text string) string {
	if text == "" {
		return ""
	}
	return "\n\nLast message: " + text
}
