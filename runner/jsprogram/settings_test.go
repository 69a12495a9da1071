package jsprogram

import (
	"encoding/json"
	"testing"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

func TestTheConfigurationOfPluginsHasNoSecrets(t *testing.T) {
	plan := &tasks.Plan{
		Agents: []tasks.Agent{{Name: "build", Prompt: "Build."}, {Name: "look", Description: "Looks", Model: &tasks.Model{ID: "script:/abs/m.yaml", Name: "script:m.yaml"}}},
		MCP: []tasks.MCPServer{
			{Name: "files", Process: tasks.Process{Command: []string{"serve", "--key=secret"}, Environment: map[string]string{"KEY": "secret"}}},
			{Name: "web", Remote: &tasks.Remote{URL: "https://example.com/secret", Headers: map[string]string{"X-Key": "secret"}}},
		},
		Scripts: tasks.Scripts{Plugins: []tasks.ScriptFile{{Name: "./guard.ts", Path: "/abs/guard.ts"}}},
	}
	profile := permission.Profile{Rules: []permission.Rule{
		{Permission: "bash", Pattern: "*", Effect: permission.Deny},
		{Permission: "read", Pattern: "*", Effect: permission.Allow},
		{Permission: "bash", Pattern: "git *", Effect: permission.Allow},
		{Permission: "bash", Pattern: "git push *", Effect: permission.Deny},
		{Permission: "read", Pattern: "*", Effect: permission.Deny},
		{Permission: "bash", Pattern: "*", Effect: permission.Allow},
	}}
	got, err := json.Marshal(Settings(plan, profile, "openai/gpt-5-mini", "build"))
	const want = `{"agent":{"build":{"mode":"primary","prompt":"Build."},"look":{"description":"Looks","mode":"subagent","model":"script:m.yaml"}},` +
		`"autoupdate":false,"command":{},"default_agent":"build","mcp":{"files":{"enabled":true,"type":"local"},"web":{"enabled":true,"type":"remote"}},` +
		`"model":"openai/gpt-5-mini","permission":{"bash":{"git *":"allow","git push *":"deny","*":"allow"},"read":{"*":"deny"}},` +
		`"plugin":["./guard.ts"],"provider":{},"share":"disabled"}`
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}
