package session

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

func TestFinalResponses(t *testing.T) {
	schema := map[string]any{"type": "object", "required": []any{"n"}, "properties": map[string]any{"n": map[string]any{"type": "integer"}}}
	same := strings.Repeat("  - calls: [{tool: glob, args: {pattern: x, path: .}}]\n  - calls: [{tool: Glob, raw: '{\"path\": \".\",  \"pattern\":\"x\"}'}]\n", 3)
	pairs := strings.Repeat("  - calls: [{tool: glob, args: {pattern: x}}]\n  - calls: [{tool: glob, args: {pattern: y}}]\n", 6)
	cut := "  - {text: a, finish: length}\n"
	tests := []struct {
		name, turns string
		schema      map[string]any
		want        event.Code
		text        string // of the end: its text, output or reason
		turnsMade   int
	}{
		{"truncated, then complete", cut + "  - {expect: [truncated], text: b}\n", nil, "", "ab", 2},
		{"cut off again and again", strings.Repeat(cut, 5), nil, event.CodeFailed, "4 times", 4},
		{"empty once", "  - text: ' '\n  - {expect: [was empty], text: ok}\n", nil, "", "ok", 2},
		{"empty twice", "  - text: ''\n  - text: ''\n", nil, event.CodeFailed, "twice", 2},
		{"a content filter", "  - {text: no, finish: content_filter, calls: [{tool: glob, args: {pattern: x}}]}\n", nil, event.CodeFailed, "content filter", 1},
		{"a document", "  - text: '{\"n\": 1}'\n", schema, "", `{"n":1}`, 1},
		{"a document in a fence", "  - text: \"Here:\\n```json\\n{\\\"n\\\": 2}\\n```\\nDone.\"\n", schema, "", `{"n":2}`, 1},
		{"a document at the second try", "  - text: 'n is 1'\n  - {expect: [not one JSON document], text: '{\"n\": 3}'}\n", schema, "", `{"n":3}`, 2},
		{"a document that never fits", "  - text: '{}'\n  - {expect: [missing], text: '{\"n\": \"x\"}'}\n  - {expect: [at /n], text: '[]'}\n", schema, event.CodeFailed, "schema", 3},
		{"a call as text, then one", "  - text: 'I look. <tool_call>{\"name\": \"Glob\", \"arguments\": {}}</tool_call>'\n  - {expect: [no tool was run], calls: [{tool: glob, args: {pattern: x}}]}\n  - text: ok\n", nil, "", "ok", 3},
		{"a call as text twice", "  - text: '<function=glob>{\"pattern\": \"x\"}'\n  - calls: [{tool: glob, args: {pattern: x}}]\n  - text: '{\"name\": \"glob\", \"arguments\": {\"pattern\": \"x\"}}'\n", nil, event.CodeTextCall, "a call of the tool glob as text twice", 3},
		{"a call in the reasoning", "  - {text: '', reasoning: '<tool_call>glob</tool_call>'}\n  - {expect: [no tool was run], text: ok}\n", nil, "", "ok", 2},
		{"reasoning about a call", "  - {text: ok, reasoning: '<tool_call>glob</tool_call>'}\n", nil, "", "ok", 1},
		{"a call in two parts", "  - {text: '<tool_call>{\"name\": \"glob\", ', finish: length}\n  - text: '\"arguments\": {}}</tool_call>'\n  - {expect: [no tool was run], text: ok}\n", nil, "", "ok", 3},
		{"text of a call of another's tool", "  - text: '<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>'\n", nil, "", "fly", 1},
		{"a document that looks like a call", "  - text: '{\"name\": \"glob\", \"arguments\": {\"n\": 1}}'\n", map[string]any{"required": []any{"name"}}, "", "glob", 1},
		{"a call, not a document", "  - text: '{\"name\": \"glob\", \"arguments\": {}}'\n  - {expect: [no tool was run], text: '{\"n\": 1}'}\n", schema, "", `{"n":1}`, 2},
		{"a call after a document", "  - text: \"```json\\n{\\\"n\\\": 1}\\n```\\n<tool_call>glob</tool_call>\"\n  - {expect: [no tool was run], text: '{\"n\": 2}'}\n", schema, "", `{"n":2}`, 2},
		{"the same call", same, nil, event.CodeDoomLoop, "doom_loop: the model made the same call 5 times", 5},
		{"two calls by turns", pairs, nil, event.CodeDoomLoop, "doom_loop: the model made the same two calls by turns 5 times", 10},
		{"a hint is heeded", strings.Join(strings.SplitAfter(same, "\n")[:3], "") + "  - {expect: [3 times in a row], text: ok}\n", nil, "", "ok", 4},
		{"a call that was cut off", "  - {calls: [{tool: write, raw: '{\"filePath\": \"a'}], finish: length}\n  - {expect: [truncated at its output limit], text: ok}\n", nil, "", "ok", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setUp(t, "build", tt.turns, func(c *Config) { c.Schema = tt.schema })
			end := s.Run(t.Context(), "go")
			got := end.Text + "|" + string(end.Output) + "|" + end.Reason
			if end.Code != tt.want || !strings.Contains(got, tt.text) || s.Totals().Turns != tt.turnsMade {
				t.Errorf("after %d turns: %s %q; want %s %q after %d", s.Totals().Turns, end.Code, got, tt.want, tt.text, tt.turnsMade)
			}
		})
	}
}

// A session that did nothing pays for no summary.
func TestNoFinalSummaryWithoutWork(t *testing.T) {
	s := setUp(t, "build", "  - {text: Nothing was done.}\n", func(c *Config) {
		c.FinalSummary = true
		c.JobLimits = func(summary bool) *End {
			if summary {
				return nil
			}
			return &End{Code: event.CodeOverBudget, Reason: "job budget exceeded"}
		}
	})
	if end := s.Run(t.Context(), "find it"); end.Code != event.CodeOverBudget || end.Text != "" || s.player.Finish() == nil {
		t.Errorf("%+v after %+v", end, s.Totals())
	}
}

func TestFinalSummaryAtLimit(t *testing.T) {
	s := setUp(t, "build", `
  - {calls: [{tool: glob, args: {pattern: x}}], usage: {input: 100, output: 10}}
  - {expect: ["had to stop: turn limit exceeded .1.", "find it"], text: So far nothing., usage: {input: 50, output: 5}}
`, func(c *Config) { c.FinalSummary, c.Limits.Turns = true, 1 })
	end := s.Run(t.Context(), "find it")
	if end.Code != event.CodeLimit || end.Text != "So far nothing." || s.Totals().Usage.Input != 150 {
		t.Errorf("%+v after %+v", end, s.Totals())
	}
	if err := s.player.Finish(); err != nil {
		t.Error(err)
	}
	without := setUp(t, "build", "  - {calls: [{tool: glob, args: {pattern: x}}]}\n", func(c *Config) { c.FinalSummary, c.Limits.Turns = true, 1 })
	if end := without.Run(t.Context(), "go"); end.Code != event.CodeLimit || end.Reason != "turn limit exceeded (1)" {
		t.Errorf("a model that can't sum up changes the end: %+v", end)
	}
}
