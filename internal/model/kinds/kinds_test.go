package kinds

import (
	"slices"
	"strings"
	"testing"
)

// TestEveryRowIsDecided requires each name that others have for a provider, except where they have none.
func TestEveryRowIsDecided(t *testing.T) {
	own := "ollama lmstudio vllm openai-compatible" // servers of one's own: free, and not listed
	none := map[string]struct {
		kinds string
		name  func(Kind) bool
	}{
		"model of a first manifest": {own + " openai-responses azure vertex", func(k Kind) bool { return k.First != "" }},         // whose models differ from project to project
		"package of OpenCode":       {"openai lmstudio vllm", func(k Kind) bool { return len(k.OpenCode) > 0 }},                   // by its compatible package, or by that of Responses
		"name in genai-prices":      {own + " openai-responses bedrock vertex", func(k Kind) bool { return k.GenaiPrices != "" }}, // charged like the maker's
		"name in models.dev":        {own + " openai-responses bedrock vertex", func(k Kind) bool { return k.ModelsDev != "" }},
		"name in OpenTelemetry":     {own + " openai anthropic groq deepseek openrouter together fireworks cerebras", func(k Kind) bool { return k.Telemetry != "" }}, // its own
	}
	for what, n := range none {
		for _, k := range table {
			if named, excepted := n.name(k), slices.Contains(strings.Fields(n.kinds), k.Name); named == excepted {
				t.Errorf("%s: %s: set: %t, none is needed: %t", k.Name, what, named, excepted)
			}
		}
	}
}
