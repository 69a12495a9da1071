package prices

import "testing"

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		model, terms string
		want         int64
	}{
		{"openai/gpt-5.5", "", 100},
		{"openai/gpt-5.5", "scale", 100},
		{"openai/gpt-5.5", "flex", 50},
		{"openai/gpt-5.5-2026-04-23", "priority", 250},
		{"openai/gpt-5", "priority", 200},
		{"openai/gpt-5-2025-08-07", "priority", 200},
		{"openai/gpt-5-mini", "priority", 180},
		{"openai/gpt-5.4-mini", "priority", 200},
		{"openai/gpt-4.1-mini", "priority", 175},
		{"openai/gpt-4o", "priority", 170},
		{"openai/gpt-9", "priority", 250},
		{"openai/gpt-6", "priority", 200},
		{"openai/gpt-6.2-sol", "priority", 200},
		{"openai/gpt-6.1-terra", "fast", 200},
		{"openai/gpt-5.6-luna", "priority", 200},
		{"openai/gpt-5.6-sol", "priority", 250},
		{"openai/gpt-5.5", "batch", 50},
		{"openai/gpt-5.5", "flex regional", 55},
		{"anthropic/claude-opus-5-5", "batch us", 55},
		{"anthropic/claude-opus-4-6", "fast us", 660},
		{"anthropic/claude-opus-5-5", "fast", 200},
		{"anthropic/claude-opus-5-5", "us", 110},
		{"house/m", "fast", 250},
	} {
		if got := Percent(tt.model, tt.terms); got != tt.want {
			t.Errorf("%s, %s: %d %%, want %d %%", tt.model, tt.terms, got, tt.want)
		}
	}
}
