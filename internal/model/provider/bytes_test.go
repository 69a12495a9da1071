package provider

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
)

// odd is a request whose texts and numbers have more than one encoding in JSON.
func odd() model.Request {
	tiny, large := 0.0000001, 1.0
	strange := "<b>&amp;</b> \u2028 \x00\x1f\x7f \"\\ \t\r\n é 合 😀 \xff"
	return model.Request{
		System: strange,
		Messages: []model.Message{
			{Role: model.User, Text: strange, Attachments: []model.Attachment{{Name: "<a>", MIME: "text/plain", Data: []byte("a")}, {MIME: "image/png", Data: []byte("<>&")}, {MIME: "application/pdf", Data: []byte("P")}}},
			{Role: model.Assistant, Text: strange, Reasoning: strange, Calls: []model.ToolCall{{ID: "<1>", Name: "a&b", Input: `{"x": "<y>\u0041"}`}, {ID: "", Name: "", Input: ""}}},
			{Role: model.ToolRole, CallID: "<1>", Tool: "a&b", Text: strange, Attachments: []model.Attachment{{Name: "a.png", MIME: "image/png", Data: []byte("a")}, {Name: "a.pdf", MIME: "application/pdf", Data: []byte("P")}}},
			{Role: model.ToolRole, Tool: "", Text: "", Failed: true},
			{Role: model.Assistant},
			{Role: model.User},
			{Role: model.User, Text: "again", Attachments: []model.Attachment{{MIME: "image/svg+xml"}}},
		},
		Tools: []model.ToolSpec{
			{Name: "a&b", Description: strange, Schema: map[string]any{
				"type": "object", "z.a": 1e21, "b": 0.1, "c": int64(1) << 60, "d": nil, "e": []string{"<"},
			}},
			{Name: "empty", Schema: map[string]any{}},
			{Name: "missing"},
		},
		Sampling: model.Sampling{MaxOutput: 1, Temperature: &tiny, Effort: "high"}, TopP: &large,
		CacheKey: "<key>",
		Output:   map[string]any{"type": "object", "properties": map[string]any{"<": map[string]any{"type": "string"}}, "additionalProperties": false},
	}
}

// remembering is a conversation with the states of earlier responses of a model.
func remembering(name string) model.Request {
	state := func(api, data string) *model.State {
		return &model.State{Wire: api + "/" + name, Data: json.RawMessage(data)}
	}
	calls := []model.ToolCall{{ID: "a", Name: "bash", Input: `{"b": 1}`}}
	states := []*model.State{
		state("chat", `{"reasoning_details":[{"type":"reasoning.text","text":"<hm>","index":0}]}`),
		state("chat", `{"calls":{"a":{"google": {"thought_signature":"<s>"}}}}`),
		state("responses", `[{"type":"reasoning", "id":"r", "encrypted_content":"<e>","summary":[]},{"type":"function_call","call_id":"a","name":"bash","arguments":"{\"b\": 1}"}]`),
		state("messages", `[{"type":"thinking","text":"<hm>","signature":"s+/="},{"type":"redacted_thinking","text":"r"},{"type":"text","text":"t"},{"type":"tool_use"}]`),
	}
	req := model.Request{Sampling: model.Sampling{Effort: "low"}, Messages: []model.Message{{Role: model.User, Text: "go"}}}
	for _, s := range states {
		req.Messages = append(req.Messages,
			model.Message{Role: model.Assistant, Text: "t", Reasoning: "<hm>", Calls: calls, State: s},
			model.Message{Role: model.ToolRole, CallID: "a", Text: "<ok>"})
	}
	return req
}

// TestTheBytesOfBodies compares bodies byte by byte: a changed order of fields or another
// escape makes the prompt caches of providers useless for conversations that started before.
func TestTheBytesOfBodies(t *testing.T) {
	const path = "testdata/bodies.txt"
	var got strings.Builder
	for _, name := range []string{
		"openai/gpt-5-mini", "openai/gpt-4.1", "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-6", "anthropic/claude-3-5-haiku-latest",
		"google/gemini-3-pro", "google/gemini-2.0-flash", "openrouter/anthropic/claude-sonnet-4.5", "openrouter/google/gemini-3-pro",
		"mistral/devstral-medium", "groq/openai/gpt-oss-120b", "deepseek/deepseek-chat", "xai/grok-4", "ollama/qwen3:8b", "vllm/qwen3",
	} {
		kind, id, _ := strings.Cut(name, "/")
		plain := model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}}
		for _, req := range []model.Request{full(), odd(), remembering(id), plain} {
			got.WriteString(name + " ")
			got.Write(capture(t, Config{Kind: kind, Model: id}, req).Body)
			got.WriteString("\n")
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
}
