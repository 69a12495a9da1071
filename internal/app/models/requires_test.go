package models

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestRequires(t *testing.T) {
	providers := map[string]tasks.Provider{
		"own":     {Kind: "openai", BaseURL: "https://x.example.com", KeyEnv: "OWN_KEY"},
		"open":    {Kind: "anthropic", BaseURL: "https://x.example.com"},
		"command": {Kind: "responses", BaseURL: "https://x.example.com", Key: &tasks.KeySource{Command: []string{"true"}}},
		"mistral": {KeyEnv: "TEAM_KEY"},
	}
	agent := func(model string) []tasks.Agent {
		return []tasks.Agent{{Name: "plan"}, {Name: "x", Model: &tasks.Model{ID: model, Name: model}}}
	}
	for _, c := range []struct {
		job    tasks.Job
		agents []tasks.Agent
		want   string
	}{
		{job("a", "openai/gpt-5", 0), nil, "[[OPENAI_API_KEY]]"},
		{job("a", "anthropic/x", 0, "openai/y", "openai/z"), nil, "[[ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN] [OPENAI_API_KEY]]"},
		{job("a", "openai/y", 0, "anthropic/x"), nil, "[[ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN] [OPENAI_API_KEY]]"},
		{job("a", "script:/m.yaml", 0), agent("google/x"), "[[GEMINI_API_KEY GOOGLE_API_KEY]]"},
		{job("a", "replay:/m.jsonl", 0), nil, "[]"},
		{job("a", "ollama/x", 0, "vllm/y"), agent("lmstudio/z"), "[]"},
		{job("a", "azure/x", 0), nil, "[[AZURE_OPENAI_API_KEY AZURE_OPENAI_AD_TOKEN AZURE_CLIENT_ID AZURE_TENANT_ID] [AZURE_OPENAI_BASE_URL AZURE_OPENAI_ENDPOINT]]"},
		{job("a", "own/x", 0, "open/x", "command/x", "mistral/x"), nil, "[[OWN_KEY] [TEAM_KEY]]"},
	} {
		p := &tasks.Plan{Jobs: []tasks.Job{c.job}, Providers: providers, Agents: c.agents}
		required := newSet(p, nil).Requires(c.job)
		if got := fmt.Sprint(required); got != c.want {
			t.Errorf("%s with %v requires %s, want %s", c.job.Model, c.job.Fallback, got, c.want)
		}
		if strings.Contains(c.job.Model, ":") { // Check would open the file
			continue
		}
		env := map[string]string{}
		for i, one := range required { // Check agrees
			if newSet(p, env).Check() == nil {
				t.Errorf("%s does not require %v", c.job.Model, required[i:])
			}
			env[one[len(one)-1]] = "https://x.example.com"
		}
		if err := newSet(p, env).Check(); err != nil {
			t.Errorf("%s requires more: %v", c.job.Model, err)
		}
	}
}
