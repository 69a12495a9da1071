package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model"
)

func decoded(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestOutputSchemasAreSentWithoutTheirIdentity(t *testing.T) {
	output := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/out", "type": "object",
		"properties": map[string]any{"$id": map[string]any{"type": "string"}}, "required": []string{"$id"}, "additionalProperties": false,
	}
	for _, name := range []string{
		"openai/gpt-5-mini", "openai/gpt-4.1", "anthropic/claude-sonnet-4-5", "anthropic/claude-3-5-haiku-latest", "google/gemini-3-pro",
		"mistral/devstral-medium", "groq/openai/gpt-oss-120b", "deepseek/deepseek-chat", "ollama/qwen3:8b",
	} {
		kind, id, _ := strings.Cut(name, "/")
		for _, tools := range [][]model.ToolSpec{nil, {{Name: "a", Schema: map[string]any{"type": "object"}}}} {
			body := string(capture(t, Config{Kind: kind, Model: id}, model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}, Output: output, Tools: tools}).Body)
			if strings.Contains(body, "$schema") || strings.Contains(body, "example.com/out") || !strings.Contains(body, `"$id":{"type":"string"}`) {
				t.Errorf("%s: %s", name, body)
			}
		}
	}
	if output["$schema"] == nil {
		t.Error("the schema itself was changed")
	}
}
