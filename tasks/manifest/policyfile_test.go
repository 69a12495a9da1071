package manifest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

// loadsPolicy loads a policy, p.yaml, in a directory with a profile and the directory d.
func loadsPolicy(t *testing.T, text string) (p policy.Policy, dir string, err error) {
	t.Helper()
	dir = userfile.Real(t.TempDir())
	for name, content := range map[string]string{"p.yaml": text, "own.yaml": "extends: readonly\n", "d/x": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err = LoadPolicy(t.Context(), "p.yaml", tasks.Options{Dir: dir})
	return p, dir, err
}

func TestEachKeyOfAPolicyMakesItsRule(t *testing.T) {
	for text, want := range map[string]struct {
		key   policy.Key
		allow []string
	}{
		"models: ['openai/*']":                 {policy.Models, []string{"openai/*"}},
		"models: []":                           {policy.Models, nil}, // none
		"providers: [openai, h]":               {policy.Providers, []string{"openai", "h"}},
		"hosts: ['*', h.example]":              {policy.Hosts, []string{"*", "h.example"}},
		"env: [CI]":                            {policy.Env, []string{"CI"}},
		"paths: [d]":                           {policy.Paths, []string{"DIR/d"}},
		"paths: [later/x]":                     {policy.Paths, []string{"DIR/later/x"}},
		"repos: ['https://h/*']":               {policy.Repos, []string{"https://h/*"}},
		"publish: [branch, comment]":           {policy.Publish, []string{"branch", "comment", "none"}}, // none publishes nothing
		"context: [event, diff]":               {policy.Context, []string{"event", "diff"}},
		"context: []":                          {policy.Context, nil},
		"actors: [ann]":                        {policy.Actors, []string{"ann"}},
		"sign: [ssh]":                          {policy.Sign, []string{"ssh"}},
		"key_sources: [pass]":                  {policy.KeySources, []string{"pass"}},
		"setup: deny":                          {policy.Setup, nil},
		"cache: none":                          {policy.Cache, nil},
		"extensions: deny":                     {policy.Extensions, nil},
		"extensions: [a]":                      {policy.Extensions, []string{"a"}},
		"setup_network: deny":                  {policy.SetupNetwork, nil},
		"setup_network: [h.example]":           {policy.SetupNetwork, []string{"h.example"}},
		"budget: {run: 5}":                     {policy.Budget, nil},
		"setup: allow":                         {},
		"cache: auto":                          {},
		"extensions: allow":                    {},
		"setup_network: allow":                 {},
		"max_profile: edit":                    {},
		"protect: [x]":                         {},
		"sandbox: require":                     {},
		"prices: {a/b: {input: 1, output: 2}}": {},
	} {
		p, dir, err := loadsPolicy(t, "version: 1\n"+text+"\n")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var rules []policy.Rule
		if want.key != "" {
			rules = []policy.Rule{{Key: want.key, Allow: want.allow, Source: "p.yaml:2"}}
		}
		for i := range p.Rules {
			for j, name := range p.Rules[i].Allow {
				p.Rules[i].Allow[j] = strings.Replace(name, dir, "DIR", 1)
			}
			if len(p.Rules[i].Allow) == 0 {
				p.Rules[i].Allow = nil
			}
		}
		if diff := cmp.Diff(rules, p.Rules); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
		if p.Name != "p.yaml" || p.Path != filepath.Join(dir, "p.yaml") || len(p.SHA256) != 64 {
			t.Errorf("%s: %+v", text, p)
		}
	}
	if p, _, err := loadsPolicy(t, "version: 1\nsetup_network: registries\n"); err != nil || !slices.Contains(p.Rules[0].Allow, "registries") || !slices.Contains(p.Rules[0].Allow, "npm") {
		t.Errorf("%+v, %v", p.Rules, err)
	}
}

func TestAPolicyLimitsProfilesCostsAndPrices(t *testing.T) {
	p, _, err := loadsPolicy(t, `version: 1
max_profile: own.yaml
budget: {run: 5, day: 50}
sandbox: require
protect: [./ci/, "*.lock"]
prices: {openai/m: {input: 1, output: 2}}
requests: {labels: {allow: [bug], max: 2}, comment: {}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if p.MaxProfile == nil || p.MaxProfile.Name != "own" || p.Run != (policy.Cap{USD: 5 * money.Dollar, Source: "p.yaml:3"}) || p.Day.USD != 50*money.Dollar || p.Sandbox != "p.yaml:4" {
		t.Errorf("%+v", p)
	}
	if len(p.Protect) != 2 || p.Protect[0].Pattern != "ci" || p.Protect[1].Source != "p.yaml:5" || p.Prices["openai/m"].Output != 2*money.Dollar {
		t.Errorf("%+v, %+v", p.Protect, p.Prices)
	}
	if diff := cmp.Diff(&policy.Requests{Max: map[string]int{"labels": 2, "comment": 1}, Labels: []string{"bug"}, Source: "p.yaml:7"}, p.Requests); diff != "" {
		t.Errorf("%s", diff)
	}
}

// What is not understood would bound nothing: the policy is refused.
func TestMistakesInAPolicyRefuseIt(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 `p.yaml:1:1: the file is empty; name another file`,
		"models: [a]":                      `p.yaml:1:1: missing key "version" in the file; add version: 1`,
		"version: 1\nmodels:":              `p.yaml:2:1: "models" has no value; give it one, or remove the key`,
		"version: 1\nbudget: {}":           `p.yaml:2:1: "budget" has no value; give it one, or remove the key`,
		"version: 1\nbudget: {week: 5}":    `p.yaml:2:10: unknown key "week"; known here: day, run`,
		"version: 1\nmax_profile: edt":     `p.yaml:2:14: unknown profile "edt"; did you mean "edit"?`,
		"version: 1\nmax_profile: no.yaml": `no.yaml: not found; check its path`,
		"version: 1\npaths: ['~/x']":       `p.yaml:2:9: "~/x" is not the path of a directory; write it without ~ and wildcards`,
		"version: 1\npaths: ['a/*']":       `p.yaml:2:9: "a/*" is not the path of a directory; write it without ~ and wildcards`,
		"version: 1\nhosts: ['a b']":       `p.yaml:2:9: `,
		"version: 1\nsandbox: maybe":       `p.yaml:2:10: "sandbox" must be one of require, not "maybe"; write one of them`,
		"version: 1\nsetup: [a]":           `p.yaml:2:8: "setup" must be a string, not a list; write one string`,
		"version: 1\npublish: [all]":       `p.yaml:2:11: entry 1 of "publish" must be one of none, patch, branch, push, pr, comment, requests, not "all"`,
		"version: 1\ncontext: [events]":    `p.yaml:2:11: entry 1 of "context" must be one of event, thread, diff, checks, not "events"; did you mean "event"?`,
		"version: 1\nenv: ['A B']":         `p.yaml:2:7: invalid environment variable name "A B"; write the name alone, such as CI`,
		"version: 2":                       `p.yaml:1:10: version 2 is not supported; write version: 1`,
	} {
		p, _, err := loadsPolicy(t, text+"\n")
		if err == nil || !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool { return strings.HasPrefix(line, want) }) || len(p.Rules) > 0 {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := LoadPolicy(t.Context(), "nope.yaml", tasks.Options{Dir: t.TempDir()}); err == nil || err.Error() != "nope.yaml: not found; check its path" {
		t.Errorf("%v", err)
	}
}

func TestProfilesAreFoundByNameAndFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"m.yaml": oneTask + "profiles: {own: {extends: edit}, broken: {extends: nope}}\n", "team.yaml": "extends: readonly\npermission: {bash: {'git log *': allow}}\n", "bad.yaml": "extend: edit\n", "keys.yaml": "extends: edit\nenv: [MY_API_KEY]\n", "bare": "extends: build\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, manifest, want, problem string }{
		{"edit", "", "edit", ""},
		{"team.yaml", "", "team", ""},
		{"./team.yaml", "", "team", ""},
		{"bare", "", "bare", ""},
		{"own", "", "", `--profile: unknown profile "own"; `},
		{"bulid", "", "", `--profile: unknown profile "bulid"; did you mean "build"?`},
		{"bad.yaml", "", "", `bad.yaml:1:1: unknown key "extend"; did you mean "extends"?`},
		{"nope.yaml", "", "", `nope.yaml: not found; check its path`},
		{"keys.yaml", "", "", `keys.yaml:2:7: "MY_API_KEY" is an API key or named like one, which commands must not see; remove it`},
		{"edit", "nope.yaml", "", `nope.yaml: not found; check its path`},
		{"own", "m.yaml", "own", ""},
		{"broken", "m.yaml", "", `m.yaml:4:`},
	} {
		p, err := LoadProfile(t.Context(), c.name, c.manifest, tasks.Options{Dir: dir})
		if p.Name != c.want || (err != nil) != (c.problem != "") || err != nil && !strings.HasPrefix(err.Error(), c.problem) {
			t.Errorf("%s of %q: %q, %v", c.name, c.manifest, p.Name, err)
		}
	}
	untrusted := policy.Set{policy.ForUntrusted(nil)}
	if _, err := LoadProfile(t.Context(), "/etc/passwd.yaml", "", tasks.Options{Dir: dir, Policies: policy.Set{{Name: "p", Rules: []policy.Rule{{Key: policy.Paths, Allow: []string{dir}, Source: "p:1"}}}}}); err == nil || strings.Contains(err.Error(), "not found") {
		t.Errorf("a path that a policy refuses is read: %v", err)
	}
	_, problems, _ := beside(t, oneTask+"instructions: [../x]\n", nil, func(o *tasks.Options) { o.Policies = untrusted })
	if len(problems) == 0 || !strings.Contains(problems[0], "the path \"../x\" not allowed by") {
		t.Errorf("%q", problems)
	}
}

func TestHostsAreReadWithoutTheRest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"m.yaml": "version: 1\ntasks: 5\nforges: {h.example: {kind: gitea, token_env: A}}\n", "n.yaml": "forges: {h.example: {kind: gitea, token_env: A}, i.example: {kind: gitlab}}\n", "other.yaml": "forges: {h.example: {kind: gitea, token_env: B}}\n", "none.yaml": "forges:\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func(names ...string) string {
		all, err := LoadForges(t.Context(), names, tasks.Options{Dir: dir})
		if err != nil {
			return err.Error()
		}
		var hosts []string
		for _, f := range all {
			hosts = append(hosts, f.Host+" "+string(f.Kind))
		}
		return strings.Join(hosts, ", ")
	}
	if got := list("m.yaml", "n.yaml", "none.yaml"); got != "h.example gitea, i.example gitlab" {
		t.Errorf("%s", got)
	}
	if got := list("m.yaml", "other.yaml"); !strings.Contains(got, "h.example") || !strings.Contains(got, "other.yaml:1") {
		t.Errorf("two definitions of a host: %s", got)
	}
	if got := list("nope.yaml"); got != "nope.yaml: not found; check its path" {
		t.Errorf("%s", got)
	}
}

// A chain of keys that another file has, a cloud or a kind is that of a provider that policies know.
func TestKindsOfProvidersAreBoundAsTheirNames(t *testing.T) {
	const text = oneTask + "providers: {x: {KEYS}}\n"
	only := func(key policy.Key, allow ...string) func(*tasks.Options) {
		return func(o *tasks.Options) {
			o.Policies = policy.Set{{Name: "p.yaml", Rules: []policy.Rule{{Key: key, Allow: allow, Source: "p.yaml:1"}}}}
		}
	}
	for _, c := range []struct {
		keys    string
		policy  func(*tasks.Options)
		refused string // "" if it is allowed
	}{
		{"kind: openai, base_url: 'https://h.example'", only(policy.Providers, "x"), "an endpoint of the manifest's own"},
		{"kind: anthropic", only(policy.Providers, "x"), `the provider "anthropic" not allowed`},
		{"kind: anthropic", only(policy.Providers, "x", "anthropic"), ""},
		{"kind: anthropic", only(policy.Models, "anthropic/*"), ""},
		{"kind: anthropic", only(policy.Models, "openai/*"), `the provider "anthropic" not allowed`},
		{"kind: responses, base_url: 'https://h.example'", only(policy.Hosts, "h.example"), ""},
		{"kind: responses, base_url: 'https://h.example'", only(policy.Hosts, "i.example"), `the host "h.example" not allowed`},
		{"kind: openai, base_url: 'https://h.example', key_command: [pass, x]", only(policy.KeySources), "a command for keys not allowed"},
		{"kind: openai, base_url: 'https://h.example', key_command: [pass, x]", only(policy.KeySources, "pass"), ""},
		{"kind: openai, base_url: 'https://h.example', token_file: /run/key", only(policy.KeySources, "/run/key"), ""},
		{"kind: openai, base_url: 'https://h.example', token_file: /run/key", only(policy.KeySources, "/run/other"), "a file with a key not allowed"},
		{"kind: bedrock, region: us-east-1, login: {}", only(policy.KeySources), "a login to a cloud not allowed"},
		{"kind: bedrock, region: us-east-1, login: {}", only(policy.KeySources, "login"), ""},
		{"kind: openai, base_url: 'https://h.example', region: us-east-1", only(policy.Env), "region is not supported by kind openai; remove it, or write kind: bedrock or vertex"},
		{"kind: openai, base_url: 'https://h.example', ttl: 5m", only(policy.Sign), "ttl requires key_command; add key_command, or remove ttl"},
	} {
		_, problems, _ := beside(t, strings.Replace(text, "KEYS", c.keys, 1), nil, c.policy)
		got := strings.Join(problems, "\n")
		if c.refused == "" && strings.Contains(got, "not allowed") || !strings.Contains(got, c.refused) {
			t.Errorf("%s: %q, want %q", c.keys, got, c.refused)
		}
	}
	if got := slices.Sorted(maps.Keys(cloudKinds)); !slices.Equal(got, []string{"azure", "bedrock", "vertex"}) {
		t.Errorf("%q", got)
	}
}
