package provider

import "testing"

// What a model can do follows the model that it is like, whatever its provider is called.
func TestAbilitiesFollowLike(t *testing.T) {
	for _, tt := range []struct {
		kind, model, like string
		temperature       bool
		effort, sent      string
	}{
		{"anthropic", "m", "", false, "xhigh", "xhigh"},
		{"anthropic", "m", "anthropic/claude-sonnet-4-5", true, "minimal", "none"},
		{"anthropic", "m", "anthropic/claude-3-5-haiku-latest", true, "high", ""},
		{"anthropic", "m", "deepseek/deepseek-chat", true, "high", "high"},
		{"anthropic", "m", "groq/llama-3.3-70b-versatile", true, "high", ""},
		{"openai-compatible", "m", "", true, "xhigh", "xhigh"},
		{"openai-compatible", "m", "openai/gpt-5", false, "xhigh", "high"},
		{"openai-compatible", "m", "openai/gpt-4.1", true, "high", ""},
		{"openai-compatible", "m", "anthropic/claude-opus-4-8", false, "high", "high"},
		{"openai-compatible", "m", "anthropic/claude-sonnet-4-5", true, "high", "high"},
		{"openai-compatible", "m", "anthropic/claude-3-5-haiku-latest", true, "high", ""},
		{"openai-compatible", "m", "google/gemini-3.6-pro", false, "minimal", "low"},
		{"openai-compatible", "m", "google/gemini-2.0-flash", true, "high", ""},
		{"openai-compatible", "m", "nobody/x", true, "xhigh", "xhigh"},
		{"openai-responses", "m", "openai/gpt-5", false, "none", "minimal"},
		{"openai-responses", "m", "groq/llama-3.3-70b-versatile", false, "high", ""},
		{"azure", "deployment", "openai/gpt-5.5", false, "max", "xhigh"},
		{"google", "m", "google/gemini-3.6-pro", false, "none", "low"},
		{"openrouter", "m", "openai/gpt-5.5", false, "minimal", "minimal"},
		{"vllm", "m", "openai/gpt-4.1", true, "high", ""},
		{"xai", "m", "xai/grok-3-mini", true, "medium", "low"},
	} {
		c := Config{Kind: tt.kind, BaseURL: "https://models.test/v1", Model: tt.model, Like: tt.like}
		if got := SendsTemperature(c); got != tt.temperature {
			t.Errorf("%s like %s: temperature %v", tt.kind, tt.like, got)
		}
		if got := SentEffort(c, tt.effort); got != tt.sent {
			t.Errorf("%s like %s: effort %s is sent as %q, want %q", tt.kind, tt.like, tt.effort, got, tt.sent)
		}
	}
}
