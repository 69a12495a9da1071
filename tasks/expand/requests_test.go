package expand

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

func TestRequests(t *testing.T) {
	manifest := head + `repos: [{url: "https://h/api"}]
tasks:
- {id: a, prompt: p, publish: {requests: {labels: {allow: [bug, "area/*"]}, issue: {title_prefix: "[bot] "}, comment: {max: 2}}}}
- {id: b, prompt: p, publish: {requests: {issue: {max: 3}}}}
- {id: c, prompt: p}
`
	on := tasks.Thread{Repo: "acme/api", Number: 7, Issue: true}
	a := tasks.Requests{Labels: []string{"bug", "area/*"}, TitlePrefix: "[bot] ", MaxLabels: 3, MaxIssues: 1, MaxComments: 2, Thread: on}
	b := tasks.Requests{MaxIssues: 3}
	for _, tt := range []struct {
		mode tasks.PublishMode
		skip string
	}{{"", ""}, {tasks.PublishPush, ""}, {tasks.PublishNone, "not made with --publish none"}, {tasks.PublishPatch, "not made with --publish patch"}} {
		a, b := a, b
		a.Skip, b.Skip = tt.skip, tt.skip
		o := options(dirWith(t, map[string]string{"m.yaml": manifest, "event.json": `{"issue": {"number": 7}, "repository": {"full_name": "acme/api"}}`}))
		o.Overrides.Publish, o.Event = tt.mode, "event.json"
		p, err := Load(t.Context(), []string{"m.yaml"}, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []*tasks.Requests
		for _, j := range p.Jobs {
			got = append(got, j.Requests)
		}
		if diff := cmp.Diff([]*tasks.Requests{&a, &b, nil}, got); diff != "" {
			t.Errorf("mode %q (-want +got):\n%s", tt.mode, diff)
		}
	}
}

func TestRequestProblems(t *testing.T) {
	checkMistakes(t, []mistake{
		{"limits", head + `tasks:
- {id: a, prompt: p, publish: {requests: {}}}
- {id: b, prompt: p, publish: {requests: {labels: {max: 1}}}}
- {id: c, prompt: p, publish: {requests: {labels: {allow: ["a,b"]}, issue: {max: 0, title_prefix: "a\nb"}, comment: {max: 21}}}}
- {id: d, prompt: p, publish: {requests: {label: {max: 1}}}}
- {id: e, prompt: p, publish: {requests: 7}}`, []string{
			`m.yaml:4:32: requests allows nothing; write labels, issue or comment, or remove it`,
			`m.yaml:5:43: missing key "allow" in "labels"; add allow: [bug, "area/*"]`,
			`m.yaml:6:60: invalid label "a,b"; write at most 100 characters in one line, without ","`,
			`m.yaml:6:82: "max" must be an integer from 1 to 20, not the number 0; write 1 or more`,
			`m.yaml:6:99: invalid title prefix "a\nb"; write at most 60 characters in one line`,
			`m.yaml:6:123: "max" must be an integer from 1 to 20, not the number 21; write 20 or less`,
			`m.yaml:7:43: unknown key "label"; did you mean "labels"?`,
			`m.yaml:7:43: missing key "allow" in "label"; add allow: [bug, "area/*"]`,
			`m.yaml:8:42: "requests" must be a mapping, not the number 7; write KEY: VALUE`,
		}},
		{"schemas", head + `tasks:
- {id: b, prompt: p, publish: {requests: {issue: {}}}, output: {schema: {type: object, properties: {requests: {}}}}}
- {id: c, prompt: p, publish: {requests: {issue: {}}}, output: {schema: {type: object, anyOf: [{required: [a]}]}}}
- {id: d, prompt: p, publish: {requests: {issue: {}}}, output: {schema: {type: object, properties: {a: {type: string}}}}}
- {id: e, prompt: p, publish: {requests: {issue: {}}}, output: findings}`, []string{
			`m.yaml:4:32: publish.requests adds a property to the final message, and output.schema has a property requests; write {type: object, properties: {...}} without it`,
			`m.yaml:5:32: publish.requests adds a property to the final message, and output.schema has anyOf; write {type: object, properties: {...}} without it`,
		}},
		{"copies", head + `repos: [{copy: d}]
tasks:
- {id: a, prompt: p, publish: {requests: {issue: {}}}}`, []string{
			`m.yaml:5:42: publish.requests is not supported for copy repositories; remove it, or use path or url`,
		}},
	})
}

func TestPoliciesLimitRequests(t *testing.T) {
	dir := dirWith(t, map[string]string{
		"m.yaml": head + `tasks:
- {id: a, prompt: p, publish: {requests: {labels: {allow: [bug, "area/*"], max: 2}, issue: {}}}}`,
		"no.yaml":    "version: 1\npublish: [push, comment]\n",
		"some.yaml":  "version: 1\nrequests:\n  labels: {allow: [\"area/*\"], max: 2}\n",
		"fewer.yaml": "version: 1\nrequests:\n  labels: {allow: [\"*\"], max: 1}\n  issue: {max: 4}\n",
		"all.yaml":   "version: 1\npublish: [requests]\nrequests:\n  labels: {allow: [\"*\"]}\n  issue: {}\n",
	})
	for name, want := range map[string]string{
		"no.yaml":    `m.yaml:4:32: publish.requests not allowed by publish (no.yaml:2); remove it, or change the policy`,
		"some.yaml":  "m.yaml:4:43: publish.requests.labels: \"bug\" not allowed by requests (some.yaml:2); remove it, or change the policy\nm.yaml:4:85: publish.requests.issue: max 1 (the policy's is 0) not allowed by requests (some.yaml:2); remove it, or change the policy",
		"fewer.yaml": `m.yaml:4:43: publish.requests.labels: max 2 (the policy's is 1) not allowed by requests (fewer.yaml:2); remove it, or change the policy`,
		"all.yaml":   "",
		"untrusted":  `m.yaml:4:32: publish.requests not allowed by publish (--untrusted); remove it, or run the manifest without --untrusted if you trust its author`,
	} {
		o := options(dir)
		if name == "untrusted" {
			o.Policies = policy.Set{policy.ForUntrusted(nil)}
		} else {
			p, err := manifest.LoadPolicy(t.Context(), name, o)
			if err != nil {
				t.Fatal(err)
			}
			o.Policies = policy.Set{p}
		}
		_, err := Load(t.Context(), []string{"m.yaml"}, o)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
