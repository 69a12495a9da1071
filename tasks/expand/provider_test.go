package expand

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission/policy"
)

// What a manifest states of a provider is bounded by policies: also facts and prices of
// its models, and where its keys come from.
func TestPoliciesBoundProviders(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	endpoints := policy.Rule{Key: policy.Endpoints, Source: "p.yaml:2", Fix: "remove it"}
	listed := policy.Rule{Key: policy.KeySources, Allow: []string{"gcloud", token}, Source: "p.yaml:3", Fix: "remove it, or change the policy"}
	only := policy.Rule{Key: policy.Providers, Allow: []string{"openai", "house"}, Source: "p.yaml:5", Fix: "remove it"}
	const facts = "providers: {openai: {models: {gpt-5.5: {input: 0.001, output: 0.001}}}}\n"
	for name, tt := range map[string]struct {
		keys  string
		rules []policy.Rule
		want  []string
	}{
		"facts without a rule":                     {facts, nil, nil},
		"facts of a known one":                     {facts, []policy.Rule{endpoints}, []string{`m.yaml:4:13: a provider's endpoint not allowed by endpoints (p.yaml:2); remove it`}},
		"a listed command":                         {"providers: {openai: {key_command: [gcloud, x]}}\n", []policy.Rule{listed}, nil},
		"a listed file":                            {"providers: {openai: {token_file: " + token + "}}\n", []policy.Rule{listed}, nil},
		"another command":                          {"providers: {openai: {key_command: [sh, -c, gcloud]}}\n", []policy.Rule{listed}, []string{`m.yaml:4:22: a command for keys not allowed by key_sources (p.yaml:3); remove it, or change the policy`}},
		"another file":                             {"providers: {openai: {token_file: token}}\n", []policy.Rule{listed}, []string{`m.yaml:4:22: a file with a key not allowed by key_sources (p.yaml:3); remove it, or change the policy`}},
		"a policy without the key":                 {"providers: {openai: {key_command: [gcloud, x]}}\n", []policy.Rule{{Key: policy.Models, Allow: []string{"*"}, Source: "p.yaml:4"}}, []string{`m.yaml:4:22: a command for keys not allowed by key_sources (p.yaml); list it under key_sources in the policy, or remove it`}},
		"two sources":                              {"providers: {openai: {key_env: K, token_file: " + token + "}}\n", nil, []string{`m.yaml:4:34: key_env and token_file are both set; remove one of them`}},
		"a time without a command":                 {"providers: {openai: {key_env: K, ttl: 5m}}\n", nil, []string{`m.yaml:4:34: ttl requires key_command; add key_command, or remove ttl`}},
		"a cloud by the name of an allowed one":    {"providers: {openai: {kind: bedrock}}\n", []policy.Rule{only}, []string{`m.yaml:4:22: the provider "bedrock" not allowed by providers (p.yaml:5); remove it`}},
		"a cloud by a name of its own":             {"providers: {house: {kind: vertex, region: eu}}\n", []policy.Rule{only}, []string{`m.yaml:4:21: the provider "vertex" not allowed by providers (p.yaml:5); remove it`}},
		"another provider by an allowed name":      {"providers: {openai: {kind: anthropic}}\n", []policy.Rule{only}, []string{`m.yaml:4:22: the provider "anthropic" not allowed by providers (p.yaml:5); remove it`}},
		"an API by the name of an allowed one":     {"providers: {openai: {kind: responses}}\n", []policy.Rule{only}, nil},
		"a cloud where only models are restricted": {"providers: {openai: {kind: bedrock}}\n", []policy.Rule{{Key: policy.Models, Allow: []string{"openai/*"}, Source: "p.yaml:4", Fix: "remove it"}}, []string{`m.yaml:4:22: the provider "bedrock" not allowed by models (p.yaml:4); remove it`}},
		"its models are allowed":                   {"providers: {openai: {kind: bedrock}}\n", []policy.Rule{{Key: policy.Models, Allow: []string{"openai/*", "bedrock/*"}, Source: "p.yaml:4"}}, nil},
		"OpenAI by an allowed name": {"providers: {anthropic: {kind: responses}}\n", []policy.Rule{{Key: policy.Providers, Allow: []string{"openrouter", "anthropic"}, Source: "p.yaml:5", Fix: "remove it"}}, []string{
			`m.yaml:2:8: the provider "openai" not allowed by providers (p.yaml:5); remove it`, // the task's
			`m.yaml:4:25: the provider "openai" not allowed by providers (p.yaml:5); remove it`,
		}},
		"an API of deployments": {"providers: {azure: {kind: responses}}\n", []policy.Rule{{Key: policy.Providers, Allow: []string{"openai", "azure"}, Source: "p.yaml:5"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options(dirWith(t, map[string]string{"m.yaml": oneTask + tt.keys}))
			if tt.rules != nil {
				opts.Policies = policy.Set{{Name: "p.yaml", Rules: tt.rules}}
			}
			var got []string
			if _, err := Load(t.Context(), []string{"m.yaml"}, opts); err != nil {
				got = lines(t, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
