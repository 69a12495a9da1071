package tools

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
)

func TestTaskReturnsTheReportOfASubagent(t *testing.T) {
	cost := money.Dollar / 4
	tests := []struct {
		name   string
		result SpawnResult
		err    error
		status Status
		want   string
		meta   Metadata
	}{
		{
			name: "done", result: SpawnResult{TaskID: "s1.2", Session: "r/s1.2", Text: "It is in cart.go.", CostUSD: &cost}, status: Completed,
			want: "<task id=\"s1.2\" state=\"completed\">\n<task_result>\nIt is in cart.go.\n</task_result>\n</task>",
			meta: Metadata{ChildSession: "r/s1.2", ChildCostUSD: &cost},
		},
		{
			name: "not done", result: SpawnResult{TaskID: "s1.2", Session: "r/s1.2", Text: "So far.", Failed: "turn limit exceeded (5)"}, status: Failed,
			want: "Error: subagent did not finish (task_id: s1.2): turn limit exceeded (5)\n\n<task id=\"s1.2\" state=\"error\">\n<task_error>\nturn limit exceeded (5)\n\nLast message: So far.\n</task_error>\n</task>",
			meta: Metadata{ChildSession: "r/s1.2"},
		},
		{"not begun", SpawnResult{}, errors.New("agents are nested too deep"), Failed, "Error: start agent explore: agents are nested too deep", Metadata{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "readonly", nil)
			var got SpawnRequest
			s.equip(func(env *Env) {
				env.Agents = []Agent{{"explore", "looks\naround"}, {"general", "does anything"}}
				env.Spawn = func(_ context.Context, r SpawnRequest) (SpawnResult, error) {
					got = r
					return tt.result, tt.err
				}
			})
			out := s.call("task", args{"description": "find it", "prompt": "Where is Total?", "subagent_type": "explore", "task_id": "s1.2"})
			s.want(out, tt.status)
			if diff := cmp.Diff(tt.want, out.Text()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.meta, out.Metadata); diff != "" || out.Title != "find it" {
				t.Errorf("%s %s", out.Title, diff)
			}
			if diff := cmp.Diff(SpawnRequest{Call: "call_1", Agent: "explore", Description: "find it", Prompt: "Where is Total?", TaskID: "s1.2"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTaskStartsOnlyAllowedAgents(t *testing.T) {
	s := setUp(t, "readonly", nil)
	s.deny("task", "general")
	s.equip(func(env *Env) {
		env.Agents = []Agent{{"explore", "looks\naround"}, {"general", "does anything"}}
		env.Spawn = func(context.Context, SpawnRequest) (SpawnResult, error) {
			t.Error("an agent was started")
			return SpawnResult{}, nil
		}
	})
	ask := args{"description": "x", "prompt": "y", "subagent_type": "explore"}
	s.want(s.call("task", ask.with(args{"subagent_type": "general"})), Denied, `task: {"general": deny} (m.yaml:4)`)
	s.want(s.call("task", ask.with(args{"subagent_type": "Explorer"})), Failed, `agent "Explorer" not found; available agents: explore`)
	s.want(s.call("task", ask.with(args{"prompt": " "})), Failed, "prompt is empty; describe the complete task")
	tool, _ := s.tools.lookup("task")
	if text := tool.Spec().Description; !strings.Contains(text, "\n- explore: looks around\n") || strings.Contains(text, "general") {
		t.Errorf("the model reads %s", text)
	}
	names := tool.Spec().Schema["properties"].(map[string]any)["subagent_type"].(map[string]any)["enum"]
	if diff := cmp.Diff([]any{"explore"}, names); diff != "" {
		t.Errorf("names of agents (-want +got):\n%s", diff)
	}
	s.equip(func(env *Env) { env.Spawn = nil })
	s.want(s.call("task", ask), Failed, `tool "task" is not available: no subagents can be started in this session; do the work yourself`)
}
