package opencode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What AWS and Google Cloud serve is called with their logins, or a key that is named.
func TestModelsOfCloudsAreCalledWithTheirLogins(t *testing.T) {
	const sonnet = "anthropic.claude-sonnet-4-5-20250929-v1:0"
	bedrock := func(model, options string) string {
		return `{"model": "amazon-bedrock/` + model + `", "provider": {"amazon-bedrock": {"options": {` + options + `}}}}`
	}
	const group = "opencode.json:1: provider amazon-bedrock: OpenCode adds the group of the region to names of models; write it, such as us. or eu., if the model lacks it"
	tests := []struct{ name, config, want, notes string }{
		{"a region of Europe", bedrock(sonnet, `"region": "eu-west-1"`), "model: bedrock/eu." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: eu-west-1\n", ""},
		{"a region of the USA", bedrock(sonnet, `"region": "us-east-1"`), "model: bedrock/us." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: us-east-1\n", ""},
		{"of the government", bedrock(sonnet, `"region": "us-gov-west-1"`), "model: bedrock/" + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: us-gov-west-1\n", ""},
		{"of Australia", bedrock(sonnet, `"region": "ap-southeast-2"`), "model: bedrock/au." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: ap-southeast-2\n", ""},
		{"of Japan", bedrock(sonnet, `"region": "ap-northeast-1"`), "model: bedrock/jp." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: ap-northeast-1\n", ""},
		{"of India", bedrock(sonnet, `"region": "ap-south-1"`), "model: bedrock/apac." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: ap-south-1\n", ""},
		{"of Canada", bedrock(sonnet, `"region": "ca-central-1"`), "model: bedrock/" + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: ca-central-1\n", ""},
		{"a group of regions", bedrock("global."+sonnet, `"region": "eu-west-1"`), "model: bedrock/global." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: eu-west-1\n", ""},
		{"nothing but the model", `{"model": "amazon-bedrock/us.` + sonnet + `"}`, "model: bedrock/us." + sonnet + "\nprofile: build\n", ""},
		{"a region of the environment", bedrock(sonnet, `"region": "{env:AWS_REGION}"`), "model: bedrock/" + sonnet + "\nprofile: build\n", group},
		{
			"one of another variable", bedrock(sonnet, `"region": "{env:OURS}"`), "model: bedrock/" + sonnet + "\nprofile: build\n",
			"opencode.json:1: provider amazon-bedrock: write the value of OURS as region\n" + group,
		},
		{
			"an invalid region", bedrock("us."+sonnet, `"region": "eu-west-1.example.com/"`), "model: bedrock/us." + sonnet + "\nprofile: build\n",
			`opencode.json:1: provider amazon-bedrock: invalid options.region "eu-west-1.example.com/"`,
		},
		{
			"profile and keys", bedrock(sonnet, `"region": "us-east-1", "profile": "team", "accessKeyId": "AKIA1", "secretAccessKey": "s"`),
			"model: bedrock/us." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: us-east-1\n",
			`opencode.json:1: provider amazon-bedrock: profile not converted: set AWS_PROFILE=team
opencode.json:1: provider amazon-bedrock: options.accessKeyId not converted
opencode.json:1: provider amazon-bedrock: options.secretAccessKey not converted`,
		},
		{
			"an address of AWS", bedrock(sonnet, `"region": "us-east-1", "endpoint": "https://x.bedrock-runtime.us-east-1.vpce.amazonaws.com"`),
			"model: bedrock/us." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    base_url: https://x.bedrock-runtime.us-east-1.vpce.amazonaws.com\n    region: us-east-1\n", "",
		},
		{
			"another address", bedrock(sonnet, `"region": "us-east-1", "baseURL": "https://gateway.example.com"`),
			"model: bedrock/us." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    base_url: https://gateway.example.com\n    region: us-east-1\n",
			"opencode.json:1: provider amazon-bedrock: credentials of the cloud are sent to this address only with login: {}; write that, or key_env",
		},
		{
			"an address with a path", bedrock(sonnet, `"region": "us-east-1", "baseURL": "https://gateway.example.com/bedrock"`),
			"model: bedrock/us." + sonnet + "\nprofile: build\nproviders:\n  bedrock:\n    region: us-east-1\n",
			"opencode.json:1: provider amazon-bedrock: base URL not converted: that of kind bedrock must not have a path",
		},
		{
			"a model of another maker", bedrock("amazon.nova-pro-v1:0", `"region": "us-east-1"`),
			"model: openai/gpt-5-mini # no model of opencode.json can be used: choose one\nprofile: build\nproviders:\n  bedrock:\n    region: us-east-1\n",
			`opencode.json:1: model "amazon-bedrock/amazon.nova-pro-v1:0" is not converted: millhand calls only Anthropic's models of amazon-bedrock`,
		},
		{
			"another name, with facts of a model", `{"model": "team/us.` + sonnet + `", "provider": {"team": {"npm": "@ai-sdk/amazon-bedrock", "options": {"region": "us-west-2", "apiKey": "{env:TEAM_KEY}"}, "models": {"us.` + sonnet + `": {"limit": {"context": 200000}}}}}}`,
			"model: team/us." + sonnet + "\nprofile: build\nproviders:\n  team:\n    kind: bedrock\n    key_env: TEAM_KEY\n    region: us-west-2\n    models:\n      us." + sonnet + ":\n        window: 200000\n", "",
		},
		{
			"the API of OpenAI at AWS", `{"model": "amazon-bedrock/openai.gpt-oss", "provider": {"amazon-bedrock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1"}}}}`,
			"model: bedrock/openai.gpt-oss\nprofile: build\nproviders:\n  bedrock:\n    kind: openai\n    base_url: https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1\n", "",
		},
		{
			"Vertex", `{"model": "google-vertex-anthropic/claude-sonnet-4-5@20250929", "provider": {"google-vertex-anthropic": {"options": {"project": "my-project", "location": "europe-west1"}}}}`,
			"model: vertex/claude-sonnet-4-5@20250929\nprofile: build\nproviders:\n  vertex:\n    project: my-project\n    region: europe-west1\n", "",
		},
		{
			"Vertex with variables", `{"model": "google-vertex-anthropic/claude-opus-4-1@20250805", "provider": {"google-vertex-anthropic": {"options": {"project": "{env:GOOGLE_CLOUD_PROJECT}", "location": "{env:VERTEX_LOCATION}"}}}}`,
			"model: vertex/claude-opus-4-1@20250805\nprofile: build\n",
			"opencode.json:1: provider google-vertex-anthropic: write the value of VERTEX_LOCATION as region",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, notes := converted(t, write(t, "opencode.json", tt.config))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProviders(t *testing.T) {
	const house = `{"model": "house/big", "provider": {"house": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://h/v1"}, `
	const head = "providers:\n  house:\n    kind: openai\n    base_url: http://h/v1\n"
	tests := []struct{ name, config, want, notes string }{
		{"a model", house + `"models": {"big": {"name": "Big", "tool_call": true, "limit": {"context": 200000, "output": 64000}, "attachment": true, "reasoning": false,
			"cost": {"input": 1.5, "output": 3, "cache_read": 0.15, "cache_write": 2, "context_over_200k": {"input": 3, "output": 6}}}}}}}`, "model: house/big\n" + `profile: build
` + head + `    models:
      big:
        window: 200000
        max_output: 64000
        vision: true
        reasoning: false
        input: 1.5
        output: 3
        cache_read: 0.15
        cache_write: 2
        tiers:
          - above: 200000
            input: 3
            output: 6
`, ""},
		{"a model with another id", house + `"models": {"big": {"id": "org/big-2", "reasoning": true}}}}}`, "model: house/org/big-2\nprofile: build\n" + head + "    models:\n      org/big-2:\n        reasoning: true\n", ""},
		{
			"two models with one id", house + `"models": {"m": {"reasoning": true}, "n": {"id": "m", "reasoning": false}}}}}`, "model: house/big\nprofile: build\n" + head + "    models:\n      m:\n        reasoning: true\n",
			"opencode.json:1: provider house: model n is not converted: m is also the id of another",
		},
		{
			"modalities", house + `"models": {"a": {"attachment": true, "modalities": {"input": ["text", "pdf"], "output": ["text"]}}, "b": {"modalities": {"input": ["text", "image"], "output": ["text", "audio"]}}}}}}`,
			"model: house/big\nprofile: build\n" + head + "    models:\n      a:\n        vision: false\n      b:\n        vision: true\n",
			"opencode.json:1: provider house: model a: modalities.input \"pdf\" not converted\nopencode.json:1: provider house: model b: modalities.output \"audio\" not converted",
		},
		{
			"limits and prices that are unknown or invalid", house + `"models": {
  "a": {"limit": {"context": 0, "output": -1, "input": 5}},
  "b": {"cost": {"input": 1}},
  "c": {"cost": {"input": 1, "output": -2}},
  "d": {"cost": {"input": 0, "output": 0, "cache_read": "x", "tiers": [], "context_over_200k": {}}}}}}}`,
			"model: house/big\nprofile: build\n" + head + "    models:\n      d:\n        input: 0\n        output: 0\n",
			`opencode.json:2: provider house: model a: limit.output not converted
opencode.json:2: provider house: model a: limit.input not converted
opencode.json:3: provider house: model b: cost not converted: it needs input and output, in USD per million tokens
opencode.json:4: provider house: model c: cost not converted: it needs input and output, in USD per million tokens
opencode.json:5: provider house: model d: cost.cache_read not converted
opencode.json:5: provider house: model d: cost.tiers not converted
opencode.json:5: provider house: model d: cost.context_over_200k not converted: it needs input and output, in USD per million tokens`,
		},
		{
			"keys of a model that are not converted", house + `"models": {"big": {
  "temperature": false,
  "tool_call": false,
  "options": {"reasoningEffort": "high"}}}}}}`, "model: house/big\nprofile: build\n" + head,
			`opencode.json:2: provider house: model big: temperature not converted
opencode.json:3: provider house: model big: tool_call not converted
opencode.json:4: provider house: model big: options not converted`,
		},
		{
			"timeouts", `{"model": "openai/m", "provider": {"openai": {"options": {"timeout": 600000, "chunkTimeout": 1500}}}}`,
			"model: openai/m\nprofile: build\nproviders:\n  openai:\n    timeouts:\n      idle: 1.5s\n      total: 10m0s\n", "",
		},
		{
			"no timeout", `{"model": "openai/m", "provider": {"openai": {"options": {"timeout": false}}}}`, "model: openai/m\nprofile: build\n",
			"opencode.json:1: provider openai: timeout not converted: a response always has a limit; write timeouts: {total: DURATION}",
		},
		{
			"keys of a provider that are not converted", `{"model": "openai/m", "provider": {"openai": {
  "name": "OpenAI",
  "whitelist": ["m"],
  "options": {"setCacheKey": true}}}}`, "model: openai/m\nprofile: build\n",
			"opencode.json:3: provider openai: whitelist not converted\nopencode.json:4: provider openai: options.setCacheKey not converted",
		},
		{
			"api and env", `{"model": "h/m", "provider": {"h": {"npm": "@ai-sdk/openai-compatible", "api": "http://h/v1", "env": ["H_KEY"]}}}`,
			"model: h/m\nprofile: build\nproviders:\n  h:\n    kind: openai\n    base_url: http://h/v1\n    key_env: H_KEY\n", "",
		},
		{
			"several variables", `{"model": "openai/m", "provider": {"openai": {"env": ["A", "B"]}}}`, "model: openai/m\nprofile: build\n",
			"opencode.json:1: provider openai: env not converted: write the variable with the key as key_env",
		},
		{
			"two names of one provider", `{"model": "together/m", "provider": {"together": {"env": ["A"]}, "togetherai": {"env": ["B"]}}}`, "model: together/m\nprofile: build\nproviders:\n  together:\n    key_env: A\n",
			"opencode.json:1: provider togetherai is not converted: another one is together here, too",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, notes := converted(t, write(t, "opencode.json", tt.config))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
