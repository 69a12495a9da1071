package opencode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
