package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
)

func TestTaskReturnsTheReportOfASubagent(t *testing.T) {
	cost := money.Dollar / 4
	tests := []struct {
		name   string
		result tools.SpawnResult
		err    error
		status tools.Status
		want   string
		meta   tools.Metadata
	}{
		{
			name: "done", result: tools.SpawnResult{TaskID: "s1.2", Session: "r/s1.2", Text: "It is in cart.go.", CostUSD: &cost}, status: tools.Completed,
			want: "<task id=\"s1.2\" state=\"completed\">\n<task_result>\nIt is in cart.go.\n</task_result>\n</task>",
			meta: tools.Metadata{ChildSession: "r/s1.2", ChildCostUSD: &cost},
		},
		{
			name: "not done", result: tools.SpawnResult{TaskID: "s1.2", Session: "r/s1.2", Text: "So far.", Failed: "turn limit exceeded (5)"}, status: tools.Failed,
			want: "Error: subagent did not finish (task_id: s1.2): turn limit exceeded (5)\n\n<task id=\"s1.2\" state=\"error\">\n<task_error>\nturn limit exceeded (5)\n\nLast message: So far.\n</task_error>\n</task>",
			meta: tools.Metadata{ChildSession: "r/s1.2"},
		},
		{"not begun", tools.SpawnResult{}, errors.New("agents are nested too deep"), tools.Failed, "Error: start agent explore: agents are nested too deep", tools.Metadata{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := tooltest.SetUp(t, "readonly", nil)
			var got tools.SpawnRequest
			s.Equip(func(env *tools.Env) {
				env.Agents = []tools.Agent{{"explore", "looks\naround"}, {"general", "does anything"}}
				env.Spawn = func(_ context.Context, r tools.SpawnRequest) (tools.SpawnResult, error) {
					got = r
					return tt.result, tt.err
				}
			})
			out := s.Call("task", tooltest.Args{"description": "find it", "prompt": "Where is Total?", "subagent_type": "explore", "task_id": "s1.2"})
			s.Want(out, tt.status)
			if diff := cmp.Diff(tt.want, out.Text()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.meta, out.Metadata); diff != "" || out.Title != "find it" {
				t.Errorf("%s %s", out.Title, diff)
			}
			if diff := cmp.Diff(tools.SpawnRequest{Call: "call_1", Agent: "explore", Description: "find it", Prompt: "Where is Total?", TaskID: "s1.2"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTaskStartsOnlyAllowedAgents(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	s.Deny("task", "general")
	s.Equip(func(env *tools.Env) {
		env.Agents = []tools.Agent{{"explore", "looks\naround"}, {"general", "does anything"}}
		env.Spawn = func(context.Context, tools.SpawnRequest) (tools.SpawnResult, error) {
			t.Error("an agent was started")
			return tools.SpawnResult{}, nil
		}
	})
	ask := tooltest.Args{"description": "x", "prompt": "y", "subagent_type": "explore"}
	s.Want(s.Call("task", ask.With(tooltest.Args{"subagent_type": "general"})), tools.Denied, `task: {"general": deny} (m.yaml:4)`)
	s.Want(s.Call("task", ask.With(tooltest.Args{"subagent_type": "Explorer"})), tools.Failed, `agent "Explorer" not found; available agents: explore`)
	s.Want(s.Call("task", ask.With(tooltest.Args{"prompt": " "})), tools.Failed, "prompt is empty; describe the complete task")
	tool, _ := s.Tools.Lookup("task")
	if text := tool.Spec().Description; !strings.Contains(text, "\n- explore: looks around\n") || strings.Contains(text, "general") {
		t.Errorf("the model reads %s", text)
	}
	names := tool.Spec().Schema["properties"].(map[string]any)["subagent_type"].(map[string]any)["enum"]
	if diff := cmp.Diff([]any{"explore"}, names); diff != "" {
		t.Errorf("names of agents (-want +got):\n%s", diff)
	}
	s.Equip(func(env *tools.Env) { env.Spawn = nil })
	s.Want(s.Call("task", ask), tools.Failed, `tool "task" is not available: no subagents can be started in this session; do the work yourself`)
}
