package session

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/text/redact"
)

// TestNoRequestHasSecrets has a secret in everything that is sent, except in the prompt and what the model wrote.
func TestNoRequestHasSecrets(t *testing.T) {
	const secret = "sesame-4711-4711"
	var seen *asks
	s := setUp(t, "readonly", `
  - text: Checking.
    calls: [{tool: list, args: {}}]
  - calls: [{tool: glob, args: {pattern: "*.sesame-4711-4711"}}]
  - text: Done.
`, func(c *Config) {
		seen = &asks{Model: c.Model}
		c.Model, c.System, c.Env.Redact = seen, "System "+secret, redact.New([]string{secret})
		c.Hooks = Hooks{
			Tool: func(_ context.Context, spec model.ToolSpec) model.ToolSpec {
				spec.Description = "Needs " + secret
				spec.Schema = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"default": secret}}}
				if spec.Name == "read" {
					spec.Name = "read_" + secret
				}
				return spec
			},
			Messages: func(_ context.Context, all []model.Message) []model.Message {
				return append(all[:len(all):len(all)], model.Message{Role: model.User, Text: "by a plugin " + secret})
			},
			Request: func(_ context.Context, r model.Request) model.Request {
				r.Headers = map[string]string{"x-token": secret}
				return r
			},
		}
	})
	if end := s.Run(t.Context(), "Prompt "+secret); !end.Done() {
		t.Fatalf("%+v", end)
	}
	for i, r := range seen.all {
		for j, m := range r.Messages {
			if m.Role == model.Assistant {
				r.Messages[j].Calls = nil
			}
		}
		r.Reservation = nil
		if r.Messages[0].Text != "Prompt "+secret {
			t.Errorf("request %d starts with %q", i+1, r.Messages[0].Text)
		}
		r.Messages = r.Messages[1:]
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), secret) || strings.Count(string(text), redact.Mark) < 4 {
			t.Errorf("request %d: %s", i+1, text)
		}
		for _, spec := range r.Tools {
			if strings.HasPrefix(spec.Name, "read_") {
				t.Errorf("request %d offers %s", i+1, spec.Name)
			}
		}
	}
	if len(seen.all) != 3 {
		t.Errorf("%d requests", len(seen.all))
	}
}
