package starter

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClaudeCode(t *testing.T) {
	const sonnet = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	type env = map[string]string
	for name, tt := range map[string]struct {
		env             env
		settings, local string
		want            Cloud
		keys            string
	}{
		"nothing":                     {},
		"switched off":                {env: env{"CLAUDE_CODE_USE_BEDROCK": "0", "CLAUDE_CODE_USE_VERTEX": "false", "AWS_REGION": "us-east-1"}},
		"settings that are not valid": {settings: "{"},
		"the defaults of Bedrock":     {env: env{"CLAUDE_CODE_USE_BEDROCK": "1"}, want: Cloud{Model: "bedrock/global.anthropic.claude-sonnet-4-5-20250929-v1:0", Provider: "bedrock"}},
		"the environment": {
			env:  env{"CLAUDE_CODE_USE_BEDROCK": "true", "AWS_REGION": "us-east-1", "ANTHROPIC_MODEL": sonnet, "AWS_PROFILE": "team", "ANTHROPIC_BEDROCK_BASE_URL": "https://gateway.example.com"},
			want: Cloud{Model: "bedrock/" + sonnet, Provider: "bedrock", Region: "us-east-1"}, keys: "providers:\n  bedrock: {region: \"us-east-1\"}\n",
		},
		"Vertex": {
			env:  env{"CLAUDE_CODE_USE_VERTEX": "1", "CLOUD_ML_REGION": "global", "ANTHROPIC_VERTEX_PROJECT_ID": "my-project", "ANTHROPIC_MODEL": "claude-opus-4-1@20250805"},
			want: Cloud{Model: "vertex/claude-opus-4-1@20250805", Provider: "vertex", Region: "global", Project: "my-project"}, keys: "providers:\n  vertex: {region: \"global\", project: \"my-project\"}\n",
		},
		"an alias":             {env: env{"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_MODEL": "opus", "ANTHROPIC_DEFAULT_OPUS_MODEL": "claude-opus-4-1@20250805"}, want: Cloud{Model: "vertex/claude-opus-4-1@20250805", Provider: "vertex"}},
		"the usual alias":      {env: env{"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_DEFAULT_SONNET_MODEL": "claude-sonnet-4-6"}, want: Cloud{Model: "vertex/claude-sonnet-4-6", Provider: "vertex"}},
		"the small model":      {env: env{"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_MODEL": "haiku", "ANTHROPIC_SMALL_FAST_MODEL": "claude-haiku-4-5@20251001"}, want: Cloud{Model: "vertex/claude-haiku-4-5@20251001", Provider: "vertex"}},
		"an alias of no model": {env: env{"CLAUDE_CODE_USE_VERTEX": "1", "ANTHROPIC_MODEL": "opus"}, want: Cloud{Model: "vertex/claude-sonnet-4-5@20250929", Provider: "vertex", Notes: []string{"model opus not converted: write the cloud's name of the model, or set ANTHROPIC_DEFAULT_OPUS_MODEL"}}},
		"a second model": {
			env:  env{"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_MODEL": sonnet + "[1m]", "ANTHROPIC_SMALL_FAST_MODEL": "x"},
			want: Cloud{Model: "bedrock/" + sonnet, Provider: "bedrock", Notes: []string{"the window of a million tokens, [1m], not converted", "ANTHROPIC_SMALL_FAST_MODEL not converted: a session has one model; agents can have others"}},
		},
		"settings go before the environment": {
			env:      env{"AWS_REGION": "us-east-1", "ANTHROPIC_MODEL": "x"},
			settings: `{"env": {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1", "ANTHROPIC_MODEL": "eu.anthropic.claude-sonnet-4-6", "AWS_PROFILE": "team", "AWS_BEARER_TOKEN_BEDROCK": "secret"}}`,
			local:    `{"env": {"AWS_REGION": "eu-central-1"}}`,
			want:     Cloud{Model: "bedrock/eu.anthropic.claude-sonnet-4-6", Provider: "bedrock", Region: "eu-central-1", Notes: []string{"AWS_PROFILE not converted: set it in the environment", "AWS_BEARER_TOKEN_BEDROCK not converted: set it in the environment"}},
			keys:     "providers:\n  bedrock: {region: \"eu-central-1\"}\n",
		},
		"a gateway": {
			settings: `{"model": "` + sonnet + `", "env": {"CLAUDE_CODE_USE_BEDROCK": "1", "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "1", "ANTHROPIC_BEDROCK_BASE_URL": "https://gateway.example.com"}}`,
			want: Cloud{Model: "bedrock/" + sonnet, Provider: "bedrock", BaseURL: "https://gateway.example.com", Notes: []string{
				"CLAUDE_CODE_SKIP_BEDROCK_AUTH not converted: write the gateway's key and headers as key_env and headers of the provider",
				"credentials of the cloud are sent to base_url only with login: {}, unless it is the cloud's own host; write that, or key_env",
			}},
			keys: "providers:\n  bedrock: {base_url: \"https://gateway.example.com\"}\n",
		},
		"values that a manifest can't have": {
			settings: `{"env": {"CLAUDE_CODE_USE_VERTEX": "1", "CLOUD_ML_REGION": "x.example.com/", "ANTHROPIC_VERTEX_PROJECT_ID": "a/b", "ANTHROPIC_VERTEX_BASE_URL": "https://ann:secret@example.com", "ANTHROPIC_MODEL": "x\\nprofile: full"}}`,
			want:     Cloud{Model: "vertex/claude-sonnet-4-5@20250929", Provider: "vertex", Notes: []string{"CLOUD_ML_REGION not converted: invalid value", "ANTHROPIC_VERTEX_PROJECT_ID not converted: invalid value", "ANTHROPIC_VERTEX_BASE_URL not converted: invalid value", "the model not converted: invalid value"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".claude"), 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{"settings.json": tt.settings, "settings.local.json": tt.local} {
				if err := os.WriteFile(filepath.Join(dir, ".claude", file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			got, found := ClaudeCode(root, func(name string) string { return tt.env[name] })
			if found != (tt.want.Provider != "") {
				t.Errorf("found %t", found)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.keys, got.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
		})
	}
}
