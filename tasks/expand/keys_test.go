package expand

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/manifest"
)

// mapNode is a mapping of a test's document.
type mapNode = map[string]any

// keyFiles are the files that the samples name.
var keyFiles = map[string]string{
	"o.md": "hi", "fix.md": "Fix it.", "skills/": "", "agents/x.md": "---\ndescription: d\n---\nText", "repos.txt": "one\ntwo\n", "one/": "", "two/.git/": "",
	"event.json": `{"repository": {"full_name": "acme/api"}, "issue": {"number": 7, "updated_at": "2029-01-01T00:00:00Z"}}`,
	"count.ts":   "", "guard.ts": "", "fix.sh": "true\n",
}

// samples are values of keys that the type alone does not give: valid, and not
// the default. Keys that need others beside them have those too.
var samples = map[string]mapNode{
	"version":                                {"version": 1},
	"tools_from":                             {"tools_from": []any{"count.ts"}},
	"plugins":                                {"plugins": []any{"guard.ts"}},
	"plugins[].path":                         {"path": "guard.ts"},
	"plugins[].optional":                     {"path": "guard.ts", "optional": true},
	"plugins[].options":                      {"path": "guard.ts", "options": mapNode{"level": 3}},
	"mcp":                                    {"mcp": mapNode{"mine": mapNode{"command": []any{"x"}}}},
	"mcp.NAME.type":                          {"type": "local"},
	"mcp.NAME.url":                           {"type": "remote", "url": "https://h.example/mcp"},
	"mcp.NAME.headers":                       {"type": "remote", "url": "https://h.example/mcp", "headers": mapNode{"X-Team": "a"}},
	"mcp.NAME.oauth":                         {"type": "remote", "url": "https://h.example/mcp", "oauth": false},
	"mcp.NAME.oauth.token_url":               {"token_url": "https://h.example/token"},
	"mcp.NAME.oauth.client_id_env":           {"client_id_env": "BUILD"},
	"mcp.NAME.oauth.client_secret_env":       {"client_secret_env": "HOME"},
	"lsp.NAME.extensions":                    {"extensions": []any{".go"}},
	"lsp.NAME.initialization":                {"initialization": mapNode{"a": 1}},
	"lsp_diagnostics.wait":                   {"wait": "7s"},
	"model":                                  {"model": "openai/n"},
	"profile":                                {"profile": "edit"},
	"instructions":                           {"instructions": []any{"o.md"}},
	"agents_from":                            {"agents_from": []any{"agents"}},
	"skills":                                 {"skills": []any{"skills"}},
	"repos":                                  {"repos": []any{mapNode{"path": "one"}}},
	"repos[].path":                           {"path": "one"},
	"repos[].copy":                           {"copy": "one"},
	"repos[].url":                            {"url": "https://h.example/a"},
	"repos[].file":                           {"file": "repos.txt"},
	"repos[].glob":                           {"glob": "t*"},
	"repos[].github":                         {"github": mapNode{"org": "acme"}},
	"repos[].gitlab":                         {"gitlab": mapNode{"group": "acme/tools"}},
	"repos[].gitea":                          {"gitea": mapNode{"host": "codeberg.org", "org": "acme"}},
	"repos[].github.host":                    {"host": "ghe.example.com"},
	"repos[].gitlab.host":                    {"host": "lab.example.com"},
	"repos[].gitea.host":                     {"host": "codeberg.org"},
	"repos[].ref":                            {"path": "one", "ref": "main"},
	"repos[].depth":                          {"url": "https://h.example/a", "depth": 2},
	"repos[].exclude":                        {"file": "repos.txt", "exclude": []any{"one"}},
	"profiles.NAME.extends":                  {"extends": "build"},
	"profiles.NAME.examples":                 {"examples": []any{mapNode{"deny": "bash", "subject": "x"}}},
	"tasks[].setup_env":                      {"setup_env": []any{"BUILD"}},
	"tasks[].repos":                          {"repos": []any{mapNode{"path": "one"}}},
	"tasks":                                  {"tasks": []any{mapNode{"id": "x", "prompt": "p"}}},
	"commands_from":                          {"commands_from": []any{"fix.md"}},
	"tasks[].command":                        {"command": "fix"},
	"tasks[].arguments":                      {"command": "fix", "arguments": "x"},
	"tasks[].matrix.exclude":                 {"k": []any{"v", "w"}, "exclude": []any{mapNode{"k": "v"}}},
	"tasks[].commit.sign":                    {"sign": "ssh"},
	"profiles":                               {"profiles": mapNode{"mine": mapNode{"extends": "edit"}}, "profile": "mine"},
	"tasks[].model":                          {"model": "openai/n"},
	"tasks[].profile":                        {"profile": "edit"},
	"tasks[].agent":                          {"agent": "plan"},
	"tasks[].review.agent":                   {"agent": "plan"},
	"tasks[].review.model":                   {"model": "openai/m"},
	"tasks[].needs":                          {"needs": []any{"other"}},
	"tasks[].untrusted":                      {"untrusted": []any{"vendor/**"}, "after_untrusted": mapNode{"network": "deny"}},
	"tasks[].if":                             {"if": "repo.has('x')"},
	"tasks[].verify":                         {"verify": []any{mapNode{"run": "true"}}},
	"tasks[].baseline":                       {"baseline": "must_fail", "verify": []any{"true"}},
	"tasks[].matrix":                         {"matrix": mapNode{"k": []any{"v"}}},
	"agents.NAME.profile":                    {"profile": "edit"},
	"agents.NAME.model":                      {"model": "openai/n"},
	"providers":                              {"providers": mapNode{"mine": mapNode{"kind": "openai", "base_url": "https://h.example/v1"}}},
	"providers.NAME.base_url":                {"kind": "openai", "base_url": "https://g.example/v1"},
	"providers.NAME.kind":                    {"base_url": "https://h.example/v1", "kind": "responses"},
	"providers.NAME.key_command":             {"key_command": []any{"mint"}, "kind": "openai", "base_url": "https://h.example/v1"},
	"providers.NAME.ttl":                     {"key_command": []any{"mint"}, "ttl": "1m", "kind": "openai", "base_url": "https://h.example/v1"},
	"providers.NAME.region":                  {"kind": "bedrock", "region": "eu-west-1"},
	"providers.NAME.login":                   {"kind": "bedrock", "login": mapNode{"id_token_env": "T"}},
	"providers.NAME.project":                 {"kind": "vertex", "project": "p"},
	"providers.NAME.login.identity_provider": {"identity_provider": "projects/1/locations/global/workloadIdentityPools/p/providers/n"},
	"providers.NAME.login.service_account":   {"service_account": "a@p.iam.gserviceaccount.com"},
	"providers.NAME.login.tenant_id":         {"tenant_id": "example.onmicrosoft.com"},
	"providers.NAME.login.client_id":         {"client_id": "11111111-2222-3333-4444-555555555555"},
	"providers.NAME.login.role":              {"role": "arn:aws:iam::123456789012:role/r"},
	"providers.NAME.models.MODEL.like":       {"like": "openai/gpt-5.5"},
	"forges":                                 {"forges": mapNode{"git.example.com": mapNode{"kind": "gitea", "token_env": "T"}}},
	"forges.HOST.kind":                       {"kind": "gitlab"},
	"forges.HOST.key_command":                {"key_command": []any{"mint"}, "kind": "gitea"},
	"forges.HOST.app":                        {"app": mapNode{"id_env": "APP"}, "kind": "github"},
	"forges.HOST.ttl":                        {"key_command": []any{"mint"}, "ttl": "1m", "kind": "gitea"},
	"search":                                 {"search": mapNode{"backend": "exa"}},
	"search.url":                             {"backend": "json", "url": "https://h.example/s"},
	"search.key_env":                         {"backend": "exa", "key_env": "SEARCH_KEY"},
	"prices":                                 {"prices": mapNode{"openai/m": mapNode{"input": 1, "output": 2}}},
	"prices.MODEL.cache_read":                {"cache_read": 0.25},
	"prices.MODEL.cache_write":               {"cache_write": 3.5},
	"profiles.NAME.network":                  {"network": []any{"example.com"}},
	"providers.NAME.models.MODEL.tiers[].cache_read":  {"cache_read": 0.25},
	"providers.NAME.models.MODEL.tiers[].cache_write": {"cache_write": 3.5},
	"prices.MODEL.tiers[].cache_read":                 {"cache_read": 0.25},
	"prices.MODEL.tiers[].cache_write":                {"cache_write": 3.5},
	"limits":                                          {"limits": mapNode{"turns": 7}},
	"budget":                                          {"budget": mapNode{"cost": 7}},
	"tasks[].limits":                                  {"limits": mapNode{"turns": 7}},
	"tasks[].change":                                  {"change": mapNode{"max_files": 7}},
	"tasks[].verify[].name":                           {"run": "x", "name": "tests"},
	"repos[].include":                                 {"file": "repos.txt", "include": []any{"one"}},
	"tasks[].escalate":                                {"escalate": []any{"openai/n"}},
	"tasks[].keep":                                    {"escalate": []any{"openai/n"}, "keep": "base"},
	"tasks[].script":                                  {"script": "fix.sh"},
	"tasks[].output":                                  {"output": mapNode{"schema": mapNode{"type": "object"}}},
	"tasks[].commit":                                  {"commit": false},
	"tasks[].publish.draft":                           {"mode": "pr", "draft": true},
	"tasks[].publish.if_exists":                       {"mode": "pr", "if_exists": "skip"},
	"tasks[].publish.base":                            {"mode": "pr", "base": "main"},
	"tasks[].publish.title":                           {"mode": "pr", "title": "x"},
	"tasks[].publish.body":                            {"mode": "pr", "body": "x"},
	"tasks[].publish.labels":                          {"mode": "pr", "labels": []any{"x"}},
	"tasks[].publish.reviewers":                       {"mode": "pr", "reviewers": []any{"x"}},
	"tasks[].publish.assignees":                       {"mode": "pr", "assignees": []any{"x"}},
	"tasks[].publish.fork":                            {"mode": "pr", "fork": "auto"},
	"tasks[].publish.comment":                         {"comment": mapNode{"issue": 1}},
	"tasks[].publish.requests":                        {"requests": mapNode{"issue": mapNode{"max": 1}}},
	"tasks[].publish.comment.sticky":                  {"issue": 1, "sticky": true},
	"tasks[].publish":                                 {"publish": mapNode{"mode": "pr"}},
	"tasks[].commit.branch":                           {"branch": "b"},
	"rollout.canary":                                  {"canary": []any{"shop"}},
	"rollout.advance.passed":                          {"passed": "80%"},
	"rollout.advance.checks":                          {"checks": "90%"},
	"rollout.stop.failed":                             {"failed": "12.5%"},
}

// policySamples are the same for a policy.
var policySamples = map[string]mapNode{
	"version":     {"version": 1},
	"max_profile": {"max_profile": "edit"},
	"paths":       {"paths": []any{"one"}},
	"budget":      {"budget": mapNode{"run": 1}},
	"requests":    {"requests": mapNode{"issue": mapNode{"max": 1}}},
	"untrusted":   {"untrusted": []any{"vendor/**"}, "after_untrusted": mapNode{"network": "deny"}},

	"after_untrusted": {"after_untrusted": mapNode{"network": "deny"}},
	"prices":          samples["prices"],
}

// neededKeys are the keys that every mapping at a path needs, beyond required ones.
var neededKeys = map[string]mapNode{
	"repos[]": {"path": "one"}, "tasks[].repos[]": {"path": "one"},
	"profiles.NAME":               {"extends": "edit"},
	"profiles.NAME.examples[]":    {"allow": "read", "subject": "x"},
	"providers.NAME":              {"kind": "openai", "base_url": "https://h.example/v1"},
	"providers.NAME.models.MODEL": {"input": 1, "output": 2},
	"search":                      {"backend": "exa"},
	"mcp.NAME":                    {"command": []any{"x"}},
	"forges.HOST":                 {"kind": "github"},
	"agents.NAME":                 {"description": "d"},
	"lsp.NAME":                    {"command": []any{"x"}, "extensions": []any{".x"}},
}

// exclusive are keys that rule out what beside has.
var exclusive = map[string]string{"repos[]": "path", "profiles.NAME.examples[]": "allow", "tasks[].repos[]": "path", "tasks[]": "prompt", "mcp.NAME": "command"}

// document is a manifest or a policy under construction.
type document struct {
	dir  string
	root mapNode
	keys []form.Key
}

func newManifest(dir string) document {
	task := mapNode{"id": "a", "prompt": "p"}
	other := mapNode{"id": "other", "prompt": "p"}
	return document{dir, mapNode{"version": 1, "model": "openai/m", "tasks": []any{task, other}}, manifest.EveryKey()}
}

func newPolicy(dir string) document {
	return document{dir, mapNode{"version": 1}, manifest.PolicyKeys()}
}

// at returns the mapping at the path of a key's parent, and makes what is missing.
func (d document) at(path string) mapNode {
	m := d.root
	done := ""
	for step := range strings.SplitSeq(path, ".") {
		if step == "" {
			continue
		}
		done = strings.TrimPrefix(done+"."+step, ".")
		name, isList := strings.CutSuffix(step, "[]")
		if placeholder := regexp.MustCompile("^[A-Z]+$"); placeholder.MatchString(name) {
			name = map[string]string{"MODEL": "openai/m"}[name]
			if name == "" {
				name = "mine"
			}
		}
		next, _ := m[name].(mapNode)
		if l, ok := m[name].([]any); ok {
			next = l[0].(mapNode)
		}
		if next == nil {
			next = maps.Clone(neededKeys[done])
			if next == nil {
				next = mapNode{}
			}
			for _, k := range d.keys {
				if k.Required && parent(k) == done {
					next[last(k)] = exampleOf(k.Type, "")
				}
			}
			m[name] = next
			if slices.Contains([]string{"github", "gitlab", "gitea"}, name) {
				delete(m, "path")
			}
			if isList {
				m[name] = []any{next}
			}
		}
		m = next
	}
	return m
}

// parent returns where a key's mapping is, and last its name in it.
func parent(k form.Key) string {
	i := strings.LastIndexByte(k.Path, '.')
	return k.Path[:max(i, 0)]
}

func last(k form.Key) string { return k.Path[strings.LastIndexByte(k.Path, '.')+1:] }

// set adds a key with a value.
func (d document) set(k form.Key, value any) {
	m := d.at(parent(k))
	m[last(k)] = value
}

// sampled adds a key with a valid value that is not its default.
func (d document) sampled(k form.Key, samples map[string]mapNode) {
	m := d.at(parent(k))
	excludes := []string{"copy", "url", "file", "glob", "depth", "include", "exclude", "deny", "command", "arguments", "github", "gitlab", "gitea", "headers", "oauth"}
	if name := exclusive[parent(k)]; name != "" && slices.Contains(excludes, last(k)) {
		delete(m, name)
	}
	if last(k) == "command" || last(k) == "arguments" {
		d.root["commands_from"] = []any{"fix.md"}
	}
	if strings.HasPrefix(k.Path, "rollout.") {
		d.root["limits"] = mapNode{"cost": 1.5}
		d.root["tasks"].([]any)[0].(mapNode)["publish"] = mapNode{"mode": "pr"}
	}
	if unneeded := k.Path == "tasks[].change.unneeded"; unneeded || strings.HasPrefix(k.Path, "tasks[].ablate") {
		task := d.root["tasks"].([]any)[0].(mapNode)
		if task["verify"] = []any{"true"}; unneeded {
			task["ablate"] = mapNode{}
		}
	}
	if parent(k) == "mcp.NAME.oauth" {
		d.at("mcp")["mine"] = mapNode{"type": "remote", "url": "https://h.example/mcp", "oauth": m}
		m["token_url"], m["client_id_env"], m["client_secret_env"] = "https://h.example/token", "HOME", "BUILD"
	}
	if k.Path == "tasks[].publish.comment.inline" {
		d.at("tasks[]")["output"] = mapNode{"schema": "findings"}
		m["pull_request"] = 1
	}
	if parent(k) == "lsp_diagnostics" {
		d.root["lsp"] = true
	}
	if parent(k) == "providers.NAME.login" {
		d.at("providers.NAME")["kind"] = "bedrock"
	}
	name := k.Path
	if below, ok := strings.CutPrefix(name, "tasks[].repos[]"); ok {
		name = "repos[]" + below
	}
	if all := samples[name]; all != nil {
		maps.Copy(m, all)
		return
	}
	m[last(k)] = exampleOf(k.Type, k.Default)
}

// exampleOf is a valid value of a type that differs from another one.
func exampleOf(t form.Type, not string) any {
	switch t.Name {
	case "string":
		return "x"
	case "integer":
		n := max(t.Min, 1)
		if strconv.Itoa(n) == not {
			n++
		}
		return n
	case "number":
		return 0.5
	case "boolean":
		return not != "true"
	case "duration":
		return "7m"
	case "bytes":
		return "3GB"
	case "USD":
		return 1.5
	case "enum", "rules":
		return t.Values[slices.IndexFunc(t.Values, func(v string) bool { return v != not })]
	case "list":
		return []any{exampleOf(*t.Elem, "")}
	case "map":
		return mapNode{"mine": exampleOf(*t.Elem, "")}
	case "mapping":
		m := mapNode{}
		if t.Keys == nil {
			return m
		}
		for _, k := range t.Keys() {
			if k.Required != "" {
				m[k.Name] = exampleOf(k.Type, "")
			}
		}
		return m
	case "JSON Schema":
		return mapNode{"type": "object"}
	}
	panic("no sample of " + t.Name)
}

// load loads the document as a manifest, or as a policy, whose plan is nil.
func (d document) load(t *testing.T, policy bool) (*tasks.Plan, error) {
	t.Helper()
	data, err := yaml.Marshal(d.root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "m.yaml"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	o := options(d.dir)
	o.Event = "event.json"
	if policy {
		_, err := manifest.LoadPolicy(t.Context(), "m.yaml", o)
		return nil, err
	}
	return Load(t.Context(), []string{"m.yaml"}, o)
}

// both runs a test for the keys of manifests and of policies.
func both(t *testing.T, test func(t *testing.T, d document, k form.Key, policy bool)) {
	t.Helper()
	dir := dirWith(t, keyFiles)
	for _, k := range manifest.EveryKey() {
		t.Run("manifest/"+k.Path, func(t *testing.T) { test(t, newManifest(dir), k, false) })
	}
	for _, k := range manifest.PolicyKeys() {
		t.Run("policy/"+k.Path, func(t *testing.T) { test(t, newPolicy(dir), k, true) })
	}
}

func TestEveryKeyOfTheTablesDecodes(t *testing.T) {
	both(t, func(t *testing.T, d document, k form.Key, policy bool) {
		t.Helper()
		d.sampled(k, map[bool]map[string]mapNode{false: samples, true: policySamples}[policy])
		if _, err := d.load(t, policy); err != nil {
			t.Errorf("%v\n%v", d.root, err)
		}
	})
}

func TestEveryKeyThatDecodesIsInTheTables(t *testing.T) {
	both(t, func(t *testing.T, d document, k form.Key, policy bool) {
		t.Helper()
		d.at(parent(k))["qqqqqqqqqqqqqqqqqqqqqqqq"] = 1
		_, err := d.load(t, policy)
		if strings.HasPrefix(k.Path, "tasks[].matrix.") { // its other keys are names of values
			return
		}
		var names []string
		for _, other := range d.keys {
			if parent(other) == parent(k) {
				names = append(names, last(other))
			}
		}
		slices.Sort(names)
		list := strings.Join(names[:min(len(names), 30)], ", ")
		if want := `unknown key "qqqqqqqqqqqqqqqqqqqqqqqq"; known here: ` + list; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	})
}

// planContent compares what plans do.
var planContent = cmp.Options{cmpopts.IgnoreUnexported(tasks.Condition{}), cmpopts.IgnoreFields(tasks.Plan{}, "Uses"), cmpopts.IgnoreFields(tasks.Evidence{}, "Sums")}

// TestDefaultsAreThoseApplied compares the plan of a manifest without a key with
// those of the default, which is the same, and of another value, which differs.
func TestDefaultsAreThoseApplied(t *testing.T) {
	n, dir := 0, dirWith(t, keyFiles)
	for _, k := range manifest.EveryKey() {
		if k.Default == "" {
			continue
		}
		n++
		t.Run(k.Path, func(t *testing.T) {
			plan := func(value func(document)) *tasks.Plan {
				d := newManifest(dir)
				d.sampled(k, samples)
				delete(d.at(parent(k)), last(k))
				value(d)
				p, err := d.load(t, false)
				if err != nil {
					t.Fatalf("%v\n%v", d.root, err)
				}
				return p
			}
			absent := plan(func(document) {})
			same := plan(func(d document) {
				var value any
				if err := yaml.Unmarshal([]byte(k.Default), &value); err != nil {
					t.Fatal(err)
				}
				d.set(k, value)
			})
			if diff := cmp.Diff(absent, same, planContent); diff != "" || absent.Hash != same.Hash {
				t.Errorf("absent and %s differ (-absent +default):\n%s", k.Default, diff)
			}
			if other := plan(func(d document) { d.sampled(k, samples) }); cmp.Equal(absent, other, planContent) {
				t.Errorf("another value than %s changes nothing", k.Default)
			}
		})
	}
	if n < 20 {
		t.Errorf("%d defaults", n)
	}
}

// unused are keys whose samples are not used by the tasks of the test, with what reads them.
var unused = map[string]string{
	"vars":                      "templates",
	"mcp.NAME.type":             "nothing: it is the one that command implies",
	"commands.NAME.description": "the list of commands",
	"commands.NAME.agent":       "a task with this command",
	"commands.NAME.model":       "a task with this command",
}

// TestEveryKeyReachesThePlan loads a manifest with and without each key: the plans differ, so that no key is read
// and then forgotten.
func TestEveryKeyReachesThePlan(t *testing.T) {
	dir := dirWith(t, keyFiles)
	keys := manifest.EveryKey()
	for _, k := range keys {
		if slices.ContainsFunc(keys, func(below form.Key) bool { return parent(below) == k.Path }) {
			continue // those below are tried
		}
		t.Run(k.Path, func(t *testing.T) {
			d := newManifest(dir)
			d.sampled(k, samples)
			with, err := d.load(t, false)
			if err != nil {
				t.Fatalf("%v\n%v", d.root, err)
			}
			delete(d.at(parent(k)), last(k))
			without, err := d.load(t, false)
			if err != nil {
				return // a manifest without it is refused
			}
			if cmp.Equal(with, without, planContent) && unused[strings.TrimPrefix(k.Path, "tasks[].")] == "" {
				t.Errorf("it changes nothing:\n%v", d.root)
			}
		})
	}
}

// docForm is a phrase on one line that starts like a sentence and has no period,
// or a value with its meaning.
var docForm = regexp.MustCompile(`^([A-Z@]|[a-z*]+: |allow |deny, |primary)[^\n]*[^.\n]$`)

func TestEveryKeyHasATypeAndADocLine(t *testing.T) {
	for _, k := range slices.Concat(manifest.EveryKey(), manifest.PolicyKeys()) {
		if !docForm.MatchString(k.Doc) {
			t.Errorf("%s: doc line %q", k.Path, k.Doc)
		}
		if k.Type.Name == "" || k.Type.Name == "enum" && len(k.Type.Values) == 0 {
			t.Errorf("%s: type %v", k.Path, k.Type)
		}
		if k.Default != "" && k.Type.Name == "enum" && !slices.Contains(k.Type.Values, k.Default) {
			t.Errorf("%s: default %s of %v", k.Path, k.Default, k.Type.Values)
		}
	}
	paths := map[string]bool{}
	for _, k := range manifest.EveryKey() {
		if paths[k.Path] {
			t.Errorf("%s is there twice", k.Path)
		}
		paths[k.Path] = true
	}
	for _, want := range []string{"limits.turns", "tasks[].limits.turns", "tasks[].verify[].run", "profiles.NAME.examples[].subject", "prices.MODEL.input", "tasks[].commit.author.email"} {
		if !paths[want] {
			t.Errorf("no key %s among %v", want, fmt.Sprint(slices.Sorted(maps.Keys(paths))))
		}
	}
}
