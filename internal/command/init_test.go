package command

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/model/provider"
	"github.com/millhand/millhand/internal/prices"
)

// Every provider with keys of its own has a model for a first manifest, whose price is known, as the manifest has a
// cost limit.
func TestFirstModels(t *testing.T) {
	var of []string
	for _, id := range firstModels() {
		name, _, _ := strings.Cut(id, "/")
		of = append(of, name)
		m, known := prices.BuiltIn().Of(id)
		if _, priced := m.Price(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)); !known || !priced {
			t.Errorf("%s has no price", id)
		}
	}
	address := []string{"openai-compatible", "openai-responses", "azure", "ollama", "vllm", "lmstudio"} // they require an address
	for _, name := range kinds.Names() {
		if kind, _ := provider.Lookup(name); len(kind.KeyEnv) > 0 && !slices.Contains(of, name) && !slices.Contains(address, name) {
			t.Errorf("no model of %s", name)
		}
	}
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "OPENROUTER_API_KEY", "CEREBRAS_API_KEY"} {
		w := world.World{Getenv: func(name string) string { return map[string]string{key: "k"}[name] }}
		if _, got, set := firstModel(w); got != key || !set {
			t.Errorf("%s is set: got %s, %t", key, got, set)
		}
	}
}
