package manifest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

func TestPathsOfAChangeAreInTheWorkspace(t *testing.T) {
	for glob, want := range map[string]string{
		"src/**": "src/**", "./src/*.go": "src/*.go", "docs/": "docs", ".": "**", "./": "**",
		"!src/x": "exclusions are not supported here; put the path under commit.protect", "/etc": "is not in the workspace; write it relative to the workspace or the repository",
		"..": "is not in the workspace; write it relative to the workspace or the repository", "../x": "is not in the workspace; write it relative to the workspace or the repository", "[x": "close its brackets",
	} {
		m, problems := read(t, head+"tasks: [{id: a, prompt: p, change: ['"+glob+"']}]\n")
		if len(problems) > 0 {
			if len(problems) != 1 || !strings.HasSuffix(problems[0], want) {
				t.Errorf("%s: %q, want %s", glob, problems, want)
			}
			continue
		}
		if got, ok := ChangeGlob(m.Tasks[0].Value, m.Tasks[0].Change.Globs[0].S); !ok || got != want {
			t.Errorf("%s: %q, want %q", glob, got, want)
		}
	}
	checkMistakes(t, []mistake{
		{"no paths", head + "tasks: [{id: a, prompt: p, change: {paths: []}}]\n", []string{`m.yaml:3:44: "paths" is empty; name at least one glob, remove it, or use the profile readonly`}},
		{"unneeded without ablate", head + "tasks: [{id: a, prompt: p, change: {unneeded: fail}}]\n", []string{`m.yaml:3:47: change.unneeded without ablate; add ablate: {time: 5m}, which finds what is unneeded, or remove it`}},
	})
}

func TestWavesOfARolloutGrow(t *testing.T) {
	const grows = "is not larger than a wave before it; each wave counts the jobs of the waves before, too: write for example [10, 25%, 100%]"
	for waves, want := range map[string]string{
		"[1, 10, 25%, 100%]": "", "[5%, 10%]": "", "[1_000]": "", "[0.01%]": "", "[10, 50%, 20]": "",
		"[10, 10]": "wave 10 " + grows, "[50%, 25%]": "wave 25% " + grows, "[20, 50%, 15]": "wave 15 " + grows, "[100%, 200]": "a wave after 100% has no jobs; remove it",
		"[0]": "must be a number of jobs from 1, or a percentage, not the number 0; write for example 10 or 25%", "['5']": `not the string "5"; write for example 10 or 25%`,
		"[101%]": "must be a percentage above 0% and up to 100%, not the string \"101%\"; write for example 80%", "[0%]": `not the string "0%"; write for example 80%`, "[-5%]": `not the string "-5%"; write for example 80%`, "[1e1%]": `write for example 80%`, "[NaN%]": `write for example 80%`, "['%']": `write for example 80%`,
		"[]": `"waves" is empty; write for example [10, 25%, 100%], or remove it`, "5": `"waves" must be a list, not the number 5; put it in brackets: [5]`,
	} {
		m, problems := read(t, oneTask+"rollout: {waves: "+waves+"}\n")
		if got := strings.Join(problems, "\n"); (got == "") != (want == "") || !strings.HasSuffix(got, want) || len(problems) > 1 {
			t.Errorf("%s: %s, want %s", waves, got, want)
		}
		if want == "" && len(m.Rollout.Waves) == 0 {
			t.Errorf("%s: %+v", waves, m.Rollout)
		}
	}
	m, problems := read(t, oneTask+"rollout: {canary: [a], waves: [1, 12.5%], advance: {passed: 90%, checks: 80%, merged: 2, forecast: 5}, stop: {failed: 5%, denied: 1, cost_per_job: 0.5}, max_open: 3, per_hour: 4, ci_minutes: 9}\n")
	if problems != nil {
		t.Fatal(problems)
	}
	want := tasks.Rollout{
		Canary: []string{"a"}, Waves: []tasks.WaveSize{{Jobs: 1}, {Share: 1250}}, Advance: tasks.Advance{Passed: 9000, Checks: 8000, Merged: 2, Forecast: 5 * money.Dollar},
		Stop: tasks.StopLoss{Failed: 500, Denied: 1, CostPerJob: money.Dollar / 2}, MaxOpen: 3, PerHour: 4, CIMinutes: 9,
	}
	if diff := cmp.Diff(want, m.Rollout.Rollout); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, problems := read(t, oneTask+"rollout: {canary: [a, b, a]}\n"); len(problems) != 1 || !strings.HasSuffix(problems[0], `duplicate canary "a"; remove it`) {
		t.Errorf("%q", problems)
	}
}

func TestNumbersOfThreads(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "4711": 4711, "0": 0, "-1": 0, "+1": 0, "01": 0, "1.5": 0, "": 0, "99999999999999999999": 0, "x": 0} {
		if got := ThreadNumber(text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
	comment := func(keys string) string {
		return head + "tasks: [{id: a, prompt: p, publish: {comment: {" + keys + "}}}]\n"
	}
	for keys, want := range map[string]string{
		"issue: 12": "", "issue: '${{ env.N }}'": "", "pull_request: '12', inline: true": "", "pull_request: 3, sticky: true": "",
		"issue: 0":                  `"issue" must be the number of an issue or pull request, not the number 0; write for example 12, or ${{ env.PR_NUMBER }}`,
		"issue: '#12'":              `not the string "#12"; write for example 12, or ${{ env.PR_NUMBER }}`,
		"sticky: true":              `missing key "issue" in "comment"; write issue: N or pull_request: N`,
		"issue: 1, pull_request: 2": "issue and pull_request are both set; remove one of them",
		"issue: 1, inline: true":    "inline is not supported for an issue: it has no diff; remove it, or write pull_request: N",
		"issue: [1]":                `"issue" must be a string, number or boolean, not a list; write one value`,
	} {
		_, problems := read(t, comment(keys))
		if got := strings.Join(problems, "\n"); (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", keys, got, want)
		}
	}
}

func TestRequestsAreWhatTheTaskAndThePoliciesAllow(t *testing.T) {
	for keys, want := range map[string]string{
		"labels: {allow: [bug, 'area/*']}": "", "issue: {}": "", "comment: {max: 20}": "", "issue: {title_prefix: 'bot: '}": "",
		"labels: {}":                   `missing key "allow" in "labels"; add allow: [bug, "area/*"]`,
		"labels: {allow: ['a,b']}":     `invalid label "a,b"; write at most 100 characters in one line, without ","`,
		"labels: {allow: [\"a\\nb\"]}": `; write at most 100 characters in one line, without ","`,
		"issue: {title_prefix: '" + strings.Repeat("x", 61) + "'}": `; write at most 60 characters in one line`,
		"comment: {max: 21}":    `"max" must be an integer from 1 to 20, not the number 21; write 20 or less`,
		"comment: {allow: [a]}": `unknown key "allow"; known here: max`,
	} {
		_, problems := read(t, head+"tasks: [{id: a, prompt: p, publish: {requests: {"+keys+"}}}]\n")
		if got := strings.Join(problems, "\n"); (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", keys, got, want)
		}
	}
	if _, problems := read(t, head+"tasks: [{id: a, prompt: p, publish: {requests: {}}}]\n"); len(problems) != 1 || !strings.HasSuffix(problems[0], "requests allows nothing; write labels, issue or comment, or remove it") {
		t.Errorf("%q", problems)
	}
	limit := &policy.Requests{Max: map[string]int{"labels": 1}, Labels: []string{"bug"}, Source: "p.yaml:2"}
	for keys, refused := range map[string]bool{"labels: {allow: [bug], max: 1}": false, "labels: {allow: [bug], max: 2}": true, "labels: {allow: [other], max: 1}": true, "comment: {}": true} {
		_, problems, _ := beside(t, head+"tasks: [{id: a, prompt: p, publish: {requests: {"+keys+"}}}]\n", nil, func(o *tasks.Options) { o.Policies = policy.Set{{Name: "p.yaml", Requests: limit}} })
		if (len(problems) > 0) != refused {
			t.Errorf("%s: %q", keys, problems)
		}
	}
	for want, schema := range map[string]map[string]any{
		"": nil, "has anyOf": {"type": "object", "anyOf": []any{}}, "has $ref": {"$ref": "#"}, "has a property requests": {"properties": map[string]any{"requests": true}}, "has maxProperties": {"maxProperties": 1},
	} {
		if got := schemaFault(schema); got != want {
			t.Errorf("%v: %q, want %q", schema, got, want)
		}
	}
}

func TestLoginsOfClouds(t *testing.T) {
	for keys, want := range map[string]string{
		"kind: bedrock, region: eu-central-1, login: {role: 'arn:aws:iam::123456789012:role/ci'}": "", "kind: vertex, region: global, project: my-project, login: {}": "", "kind: azure, base_url: 'https://h', login: {tenant_id: t.example}": "",
		"kind: bedrock, region: 'x/../y', login: {}":                       `invalid "region" "x/../y"; write for example us-east-1`,
		"kind: bedrock, region: us-east-1, login: {role: admin}":           `invalid "role" "admin"; write for example arn:aws:iam::123456789012:role/NAME`,
		"kind: vertex, region: global, project: 'a b', login: {}":          `invalid "project" "a b"; write for example my-project`,
		"kind: vertex, region: global, login: {identity_provider: x}":      `write for example projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/NAME`,
		"kind: vertex, region: global, login: {service_account: x}":        `write for example NAME@PROJECT.iam.gserviceaccount.com`,
		"kind: azure, base_url: 'https://h', login: {client_id: 1-2}":      `write for example 11111111-2222-3333-4444-555555555555`,
		"kind: bedrock, region: us-east-1, project: p, login: {}":          "project is not supported by kind bedrock; remove it, or write kind: vertex",
		"kind: azure, base_url: 'https://h', login: {id_token_env: 'A B'}": `"id_token_env" must be the name of an environment variable; write the name alone, such as EXAMPLE_API_KEY, and never the key`,
		"kind: bedrock, region: us-east-1, login: {}, key_env: A":          "key_env and login are both set; remove one of them",
	} {
		text := oneTask + "providers: {x: {" + keys + "}}\n"
		_, problems, _ := beside(t, text, nil, func(o *tasks.Options) {
			o.Policies = policy.Set{{Name: "p.yaml", Rules: []policy.Rule{{Key: policy.KeySources, Allow: []string{"*"}, Source: "p.yaml:1"}}}}
		})
		if got := strings.Join(problems, "\n"); (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s, want %s", keys, got, want)
		}
	}
}

func TestLanguageServersAreKnownOrComplete(t *testing.T) {
	m, problems := read(t, oneTask+"lsp: true\nlsp_diagnostics: {when: edit, wait: 20s}\n")
	if problems != nil || len(m.LanguageServers) != len(knownServers()) || !m.LanguageServers[0].Is.IfFound || m.Diagnostics != (diagnostics{"edit", 20 * time.Second}) {
		t.Errorf("%q, %d servers, %+v", problems, len(m.LanguageServers), m.Diagnostics)
	}
	m, problems = read(t, oneTask+"lsp: {gopls: {}, rust-analyzer: {cache: []}, own: {command: [own, -v], extensions: [.x]}, zls: {disabled: true}}\n")
	if problems != nil || len(m.LanguageServers) != 3 {
		t.Fatal(problems, len(m.LanguageServers))
	}
	gopls, rust, own := m.LanguageServers[0].Is, m.LanguageServers[1].Is, m.LanguageServers[2].Is
	if !slices.Equal(gopls.Process.Command, []string{"gopls"}) || !slices.Equal(gopls.Process.Cache, []string{"go"}) || string(gopls.Initialization) != `{"diagnosticsDelay":"10ms"}` || gopls.IfFound {
		t.Errorf("%+v", gopls)
	}
	if !slices.Equal(rust.Extensions, []string{".rs"}) || len(rust.Process.Cache) > 0 || !slices.Equal(own.Process.Command, []string{"own", "-v"}) || own.Initialization != nil {
		t.Errorf("%+v, %+v", rust, own)
	}
	cache := policy.Set{{Name: "p.yaml", Rules: []policy.Rule{{Key: policy.Cache, Source: "p.yaml:1"}}}}
	m, problems, _ = beside(t, oneTask+"lsp: {gopls: {}}\n", nil, func(o *tasks.Options) { o.Policies = cache })
	if problems != nil || len(m.LanguageServers[0].Is.Process.Cache) > 0 { // its default is not what the manifest asks for
		t.Errorf("%q, %+v", problems, m.LanguageServers)
	}
	for text, want := range map[string]string{
		"lsp: {own: {}}": `missing key "extensions" in "own"; add for example extensions: [.go]`, "lsp: {own: {command: [a], extensions: [go]}}": `invalid extension "go"; write it with its dot, such as .go`,
		"lsp: {'a b': {}}": "starting with a letter or digit", "lsp: {gopls: {initialization: 5}}": "write KEY: VALUE", "lsp_diagnostics: {wait: 21s}": "wait must be at most 20s; write for example 3s", "lsp: {gopls: 5}": "write KEY: VALUE",
	} {
		if _, problems := read(t, oneTask+text+"\n"); len(problems) == 0 || !strings.HasSuffix(problems[len(problems)-1], want) {
			t.Errorf("%s: %q, want %s", text, problems, want)
		}
	}
	if !KnownLanguageServer("rust") || !KnownLanguageServer("rust-analyzer") || KnownLanguageServer("own") {
		t.Error("known servers are not distinguished")
	}
}
