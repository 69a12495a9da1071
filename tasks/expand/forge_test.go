package expand

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

func TestForgesOfAllManifestsAreInThePlan(t *testing.T) {
	dir := dirWith(t, map[string]string{"m.yaml": oneTask + `forges:
  GitHub.com:443: {token_env: GH}
  codeberg.org: {}
  ghe.example.com: {kind: github, app: {key_env: PEM}}
  "[::1]:3000": {kind: gitea, key_command: [mint, token], ttl: 5m}
`, "n.yaml": "version: 1\nmodel: openai/m\ntasks: [{id: other, prompt: p}]\nforges: {codeberg.org: {kind: gitea}, gitlab.com: {kind: gitlab}}\n"})
	p, err := Load(t.Context(), []string{"m.yaml", "n.yaml"}, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	want := []tasks.Forge{
		{Host: "github.com", Kind: tasks.GitHub, TokenEnv: "GH", Source: "m.yaml:5"},
		{Host: "codeberg.org", Kind: tasks.Gitea, Source: "m.yaml:6"},
		{Host: "ghe.example.com", Kind: tasks.GitHub, App: &tasks.GitHubApp{IDEnv: "MILLHAND_GITHUB_APP_ID", KeyEnv: "PEM"}, Source: "m.yaml:7"},
		{Host: "[::1]:3000", Kind: tasks.Gitea, Key: &tasks.KeySource{Command: []string{"mint", "token"}, Dir: dir, TTL: 5 * time.Minute}, Source: "m.yaml:8"},
		{Host: "gitlab.com", Kind: tasks.GitLab, Source: "n.yaml:4"},
	}
	if diff := cmp.Diff(want, p.Forges); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Mistakes have their locations, and policies bound entries as they do providers.
func TestForgeProblems(t *testing.T) {
	rule := func(key policy.Key, allow ...string) policy.Rule {
		return policy.Rule{Key: key, Allow: allow, Source: "p.yaml:3"}
	}
	for name, tt := range map[string]struct {
		entry string
		rules []policy.Rule
		want  []string
	}{
		"an unknown kind":        {"h.example: {kind: bitbucket}", nil, []string{`m.yaml:5:21: "kind" must be one of github, gitlab, gitea, not "bitbucket"; write one of them`}},
		"no kind":                {"h.example: {token_env: T}", nil, []string{`m.yaml:5:3: missing key "kind" in "h.example"; write kind: github, gitlab or gitea`}},
		"two sources":            {"gitlab.com: {token_env: T, key_command: [mint]}", nil, []string{`m.yaml:5:30: token_env and key_command are both set; remove one of them`}},
		"an empty command":       {"gitlab.com: {key_command: []}", nil, []string{`m.yaml:5:29: "key_command" is empty; write a program and its arguments`}},
		"a time without command": {"gitlab.com: {ttl: 5m}", nil, []string{`m.yaml:5:16: ttl requires key_command; add key_command, or remove ttl`}},
		"a URL":                  {"https://gitlab.com: {kind: gitlab}", nil, []string{`m.yaml:5:3: invalid host "https://gitlab.com"; write HOST or HOST:PORT, such as git.example.com`}},
		"a path":                 {"gitlab.com/acme: {kind: gitlab}", nil, []string{`m.yaml:5:3: invalid host "gitlab.com/acme"; write HOST or HOST:PORT, such as git.example.com`}},
		"a wildcard":             {`"*.example.com": {kind: gitlab}`, nil, []string{`m.yaml:5:3: invalid host "*.example.com"; write HOST or HOST:PORT, such as git.example.com`}},
		"the same host":          {"gitlab.com: {}\n  GITLAB.com:443: {}", nil, []string{`m.yaml:6:3: duplicate host "gitlab.com", first at m.yaml:5; remove one of them`}},
		"a value":                {"gitlab.com: {token_env: glpat-1}", nil, []string{`m.yaml:5:27: "token_env" must be the name of an environment variable; write the name alone, such as EXAMPLE_API_KEY, and never the key`}},
		"a token for commands":   {"gitlab.com: {token_env: T}\nprofiles: {mine: {extends: build, env: [T]}}", nil, []string{`m.yaml:6:41: "T" is an API key or named like one, which commands must not see; remove it: millhand reads API keys itself`}},
		"a key for commands":     {"github.com: {app: {key_env: PEM}}\nprofiles: {mine: {extends: build, env: [PEM]}}", nil, []string{`m.yaml:6:41: "PEM" is an API key or named like one, which commands must not see; remove it: millhand reads API keys itself`}},
		"an app elsewhere":       {"gitlab.com: {app: {}}", nil, []string{`m.yaml:5:16: app requires kind: github; remove it, or use key_command`}},
		"an app and a token":     {"github.com: {token_env: T, app: {}}", nil, []string{`m.yaml:5:30: token_env and app are both set; remove one of them`}},
		"variables of an app":    {"github.com: {app: {key_env: PEM}}", []policy.Rule{rule(policy.Env, "PEM")}, []string{`m.yaml:5:16: the environment variable MILLHAND_GITHUB_APP_ID not allowed by env (p.yaml:3); remove it, or change the policy`}},
		"another host":           {"gitlab.com: {}", []policy.Rule{rule(policy.Hosts, "github.com")}, []string{`m.yaml:5:3: the host "gitlab.com" not allowed by hosts (p.yaml:3); remove it, or change the policy`}},
		"a listed host":          {"gitlab.com: {}", []policy.Rule{rule(policy.Hosts, "gitlab.com")}, nil},
		"another variable":       {"gitlab.com: {token_env: T}", []policy.Rule{rule(policy.Env, "U")}, []string{`m.yaml:5:16: the environment variable T not allowed by env (p.yaml:3); remove it, or change the policy`}},
		"an unlisted command":    {"gitlab.com: {key_command: [mint]}", []policy.Rule{rule(policy.KeySources, "gcloud")}, []string{`m.yaml:5:16: a command for keys not allowed by key_sources (p.yaml:3); remove it, or change the policy`}},
		"a listed command":       {"gitlab.com: {key_command: [mint]}", []policy.Rule{rule(policy.KeySources, "mint")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options(dirWith(t, map[string]string{"m.yaml": oneTask + "forges:\n  " + tt.entry + "\n"}))
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

func TestForgesOfSeveralManifestsMustAgree(t *testing.T) {
	dir := dirWith(t, map[string]string{
		"m.yaml": oneTask + "forges: {gitlab.com: {token_env: T}}\n",
		"n.yaml": "version: 1\nmodel: openai/m\ntasks: [{id: other, prompt: p}]\nforges: {gitlab.com: {token_env: U}}\n",
	})
	_, err := Load(t.Context(), []string{"m.yaml", "n.yaml"}, options(dir))
	want := []string{`n.yaml:4:10: the forge "gitlab.com" differs from the one at m.yaml:4; make them equal, or rename one of them`}
	if err == nil || cmp.Diff(want, lines(t, err)) != "" {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestForgesAreReadWithoutTheTasks: a manifest whose tasks are not valid any more, or refused
// by a policy, still has its hosts, which policies bound.
func TestForgesAreReadWithoutTheTasks(t *testing.T) {
	dir := dirWith(t, map[string]string{
		"m.yaml": "version: 1\nforges: {codeberg.org: {token_env: T}}\ntasks: [{id: a, prompt: p, publish: {mode: pr}, unknown: 1}]\n",
		"n.yaml": "version: 1\nforges: {codeberg.org: {token_env: U}}\n", "none.yaml": "version: 1\n",
	})
	o := options(dir)
	o.Policies = policy.Set{{Path: "p.yaml", Rules: []policy.Rule{{Key: policy.Publish, Allow: []string{"none"}, Source: "p.yaml:2"}}}}
	got, err := manifest.LoadForges(t.Context(), []string{"m.yaml", "none.yaml"}, o)
	if diff := cmp.Diff([]tasks.Forge{{Host: "codeberg.org", Kind: tasks.Gitea, TokenEnv: "T", Source: "m.yaml:2"}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := manifest.LoadForges(t.Context(), []string{"m.yaml", "n.yaml"}, o); err == nil {
		t.Error("two tokens for one host")
	}
	if _, err := manifest.LoadForges(t.Context(), []string{"missing.yaml"}, o); err == nil {
		t.Error("a missing manifest has no error")
	}
	o.Policies[0].Rules = []policy.Rule{{Key: policy.Hosts, Allow: []string{"github.com"}, Source: "p.yaml:2"}}
	if _, err := manifest.LoadForges(t.Context(), []string{"m.yaml"}, o); err == nil {
		t.Error("the host is refused by the policy")
	}
}
