package profiles

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// read reads a set of profiles, the value of the key profiles of a file, within policies.
func read(t *testing.T, text string, policies ...policy.Policy) (ps *Set, ok bool, found *problem.Collector) {
	t.Helper()
	src := &form.Source{File: problem.File{Name: "m.yaml", Found: problem.NewCollector()}, Dir: "/work", Home: "/home/ann/", Policies: policies}
	root, valid := src.Parse([]byte("profiles: " + text))
	if !valid {
		t.Fatal(src.Found.Err())
	}
	entries, _ := root.Entries()
	ps, ok = Form.Read(entries[0])
	return ps, ok, src.Found
}

// spelled is a profile in one line, without the rules of presets.
func spelled(p permission.Profile) string {
	var all []string
	network := func(name string, n permission.Network) {
		if n.Allow || n.Hosts != nil {
			all = append(all, fmt.Sprint(name, " ", n.Allow, n.Hosts))
		}
	}
	for _, r := range p.Rules {
		if !r.Preset {
			all = append(all, fmt.Sprint(r.Permission, " ", r.Pattern, " ", r.Effect, " ", r.Source))
		}
	}
	network("network", p.Network)
	if p.Setup != nil {
		all = append(all, fmt.Sprint("setup ", p.Setup.Allow, p.Setup.Hosts))
	}
	if !slices.Equal(p.Cache, []string{permission.AutoCache}) {
		all = append(all, fmt.Sprint("cache ", p.Cache))
	}
	if p.Env != nil {
		all = append(all, fmt.Sprint("env ", p.Env))
	}
	for _, e := range p.Examples {
		all = append(all, fmt.Sprint(e.Effect, " ", e.Tool, " ", e.Subject, " at ", e.Source))
	}
	return strings.Join(all, "; ")
}

// lines are the problems that were found.
func lines(found *problem.Collector) []string {
	if err := found.Err(); err != nil {
		return strings.Split(err.Error(), "\n")
	}
	return nil
}

// What has a mistake is left out, and the rest is read.
func TestBodiesOfProfiles(t *testing.T) {
	t.Parallel()
	const at = " m.yaml:1"
	for body, want := range map[string]struct {
		profile  string
		problems []string
	}{
		"permission: deny":                            {"* * deny" + at, nil},
		"permission: {bash: allow}":                   {"bash * allow" + at, nil},
		"permission: {shell: allow}":                  {"bash * allow" + at, nil},
		"permission: {edit: {'*': deny, a: allow}}":   {"edit * deny" + at + "; edit a allow" + at, nil},
		"permission: {read: {'~/x': deny}}":           {"read /home/ann/x deny" + at, nil},
		"permission: {read: {'$HOME': deny}}":         {"read /home/ann deny" + at, nil},
		"permission: {git: write, bash: deny}":        {"git * allow" + at + "; bash * deny" + at, nil},
		"permission: {mine: allow}":                   {"mine * allow" + at, nil},
		"permission: 5":                               {"", []string{`m.yaml:1:28: "permission" must be allow or deny, not the number 5; write one of them`}},
		"permission: [a]":                             {"", []string{`m.yaml:1:28: "permission" must be allow, deny or a mapping from permissions to them, not a list; write for example {edit: allow}`}},
		"permission: {bash: ask, read: allow}":        {"read * allow" + at, []string{`m.yaml:1:35: "ask" is not supported, because nobody can be asked; write allow or deny`}},
		"permission: {bash: [a]}":                     {"", []string{`m.yaml:1:35: "bash" must be allow, deny or a mapping from patterns to them, not a list; write for example {"*": allow}`}},
		"permission: {bash: {'': deny}}":              {"", []string{`m.yaml:1:36: an empty pattern matches nothing; write "*" for everything`}},
		"permission: {write: deny, read: deny}":       {"read * deny" + at, []string{`m.yaml:1:29: the tool "write" has no rules of its own; write them under "edit"`}},
		"git: write":                                  {"git * allow" + at, nil},
		"git: none":                                   {"git * deny" + at, nil},
		"git: all":                                    {"", []string{`m.yaml:1:21: "git" must be write or none, not the string "all"; write one of them`}},
		"permission: {git: }":                         {"", nil},
		"network: allow":                              {"network true []", nil},
		"network: deny":                               {"", nil},
		"network: [h.example, i.example]":             {"network false [h.example i.example]", nil},
		"network: some":                               {"", []string{`m.yaml:1:25: "network" must be deny, allow or a list of hosts, not the string "some"; write one of them`}},
		"network: ['https://h', '', h.example]":       {"network false [h.example]", []string{`m.yaml:1:26: invalid host "https://h"; write its name alone, such as proxy.golang.org`, `m.yaml:1:39: entry 2 of "network" is empty; give it a value, or remove it`}},
		"setup_network: registries":                   {"", nil},
		"setup_network: deny":                         {"setup false []", nil},
		"setup_network: allow":                        {"setup true []", nil},
		"setup_network: [registries, h.example]":      {"setup false [registries h.example]", nil},
		"setup_network: some":                         {"", []string{`m.yaml:1:31: "setup_network" must be registries, deny, allow or a list of hosts, not the string "some"; write one of them`}},
		"cache: auto":                                 {"", nil},
		"cache: none":                                 {"cache []", nil},
		"cache: [go, npm]":                            {"cache [go npm]", nil},
		"cache: [gо, go]":                             {"cache [go]", []string{`m.yaml:1:24: unknown cache "gо"; `}},
		"cache: ['', go]":                             {"cache [go]", []string{`m.yaml:1:24: entry 1 of "cache" is empty; give it a value, or remove it`}},
		"cache: some":                                 {"", []string{`m.yaml:1:23: "cache" must be auto, none or a list of caches, not the string "some"; write for example [go]`}},
		"env: [CI, CI, A]":                            {"env [CI A]", nil},
		"env: [A B]":                                  {"", []string{`m.yaml:1:22: invalid environment variable name "A B"; write the name alone, such as CI`}},
		"examples: [{allow: bash, subject: git}]":     {"allow bash git at m.yaml:1:27", nil},
		"examples: [{deny: edit, subject: a}]":        {"deny edit a at m.yaml:1:27", nil},
		"examples: [{deny: edit}]":                    {"", []string{`m.yaml:1:27: an example needs one tool and its subject; write {allow: TOOL, subject: "..."} or {deny: TOOL, subject: "..."}`}},
		"examples: [{subject: x}]":                    {"", []string{`m.yaml:1:27: an example needs one tool and its subject; write {allow: TOOL, subject: "..."} or {deny: TOOL, subject: "..."}`}},
		"examples: [{allow: a, deny: b, subject: x}]": {"", []string{`m.yaml:1:27: an example needs one tool and its subject; write {allow: TOOL, subject: "..."} or {deny: TOOL, subject: "..."}`}},
		"examples: [{deny: edit, subject: 5}]":        {"", []string{`m.yaml:1:49: "subject" must be a string, not the number 5; put it in quotes`}},
		"examples: [{deny: 5, subject: x}]":           {"", []string{`m.yaml:1:34: "deny" must be a string, not the number 5; put it in quotes`}},
	} {
		ps, ok, found := read(t, "{p: {"+body+"}}")
		got := lines(found)
		for i := range min(len(got), len(want.problems)) {
			if strings.HasSuffix(want.problems[i], " ") && strings.HasPrefix(got[i], want.problems[i]) { // a list of all names follows
				got[i] = want.problems[i]
			}
		}
		if diff := cmp.Diff(want.problems, got); diff != "" || !ok {
			t.Errorf("%s (-want +got)\n%s", body, diff)
		}
		p, made := ps.Find("p")
		if is := spelled(p.Profile); is != want.profile || !made || p.Name != "p" {
			t.Errorf("%s:\n%s, want\n%s", body, is, want.profile)
		}
	}
}

func TestNamesOfProfiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		names    string
		problems []string
	}{
		"{a: {git: none}, b: {extends: a}}": {"a b", nil},
		"{edit: {git: none}, a: {}}":        {"a", []string{`m.yaml:1:12: profile name "edit" is a preset's; choose another name, and extend the preset`}},
		"{'a b': {}}":                       {"", []string{`m.yaml:1:12: "a b" is not a name; use letters, digits, ., _ and -`}},
		"{a: null, b: {}}":                  {"b", []string{`m.yaml:1:15: profile "a" is empty; add at least permission: or extends:`}},
		"{a: 5}":                            {"a", []string{`m.yaml:1:15: "a" must be a mapping, not the number 5; write KEY: VALUE`}},
		"5":                                 {"", []string{`m.yaml:1:11: "profiles" must be a mapping, not the number 5; write KEY: VALUE`}},
	} {
		ps, ok, found := read(t, text)
		if diff := cmp.Diff(want.problems, lines(found)); diff != "" || ok != (text != "5") {
			t.Errorf("%s: %t (-want +got)\n%s", text, ok, diff)
		}
		if ok && strings.Join(ps.Names(), " ") != strings.TrimSpace(strings.Join(permission.Presets(), " ")+" "+want.names) {
			t.Errorf("%s: %q", text, ps.Names())
		}
		var all []string
		for _, p := range ps.all() {
			all = append(all, p.Name)
		}
		if got := strings.Join(all, " "); got != want.names {
			t.Errorf("%s: %s, want %s", text, got, want.names)
		}
	}
}

// all is what All returns, and nothing for a set that was not read.
func (ps *Set) all() []permission.Profile {
	if ps == nil {
		return nil
	}
	return ps.All()
}

func TestProfilesExtendOneAnother(t *testing.T) {
	t.Parallel()
	ps, _, found := read(t, `
  a: {extends: b, permission: {bash: deny}, network: [h.example], cache: [npm], env: [A, CI]}
  b: {extends: edit, git: write, setup_network: deny, cache: [go], env: [CI], examples: [{allow: edit, subject: x}]}
  c: {extends: a, cache: auto, network: deny}
  d: {extends: a, cache: none}
  e: {permission: allow}
  f: {extends: e, cache: [go]}
`)
	if got := lines(found); got != nil {
		t.Fatal(got)
	}
	for name, want := range map[string]string{
		"a": "git * allow m.yaml:3; bash * deny m.yaml:2; network false [h.example]; setup false []; cache [go npm]; env [CI A]",
		"b": "git * allow m.yaml:3; setup false []; cache [go]; env [CI]; allow edit x at m.yaml:3:90",
		"c": "git * allow m.yaml:3; bash * deny m.yaml:2; setup false []; env [CI A]",
		"d": "git * allow m.yaml:3; bash * deny m.yaml:2; network false [h.example]; setup false []; cache []; env [CI A]",
		"e": "* * allow m.yaml:6",
		"f": "* * allow m.yaml:6; cache [go]",
	} {
		p, ok := ps.Find(name)
		if got := spelled(p.Profile); !ok || got != want || p.Name != name {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
		again, _ := ps.Find(name)
		if again.Digest != p.Digest || len(p.Digest) != 64 {
			t.Errorf("%s: %q, %q", name, p.Digest, again.Digest)
		}
	}
	a, _ := ps.Find("a")
	if !a.Allows("edit", "x") || a.Allows("bash", "x") {
		t.Error("the rules of the base are missing")
	}
	preset, ok := ps.Find("edit")
	if want, _ := permission.Preset("edit"); !ok || !slices.Equal(preset.Rules, want.Rules) || preset.Digest == "" {
		t.Errorf("%+v", preset)
	}
	if _, ok := ps.Find("nope"); ok || ps.Body("nope") != nil || ps.Body("a") == nil {
		t.Error("unknown profiles are found")
	}
	var names []string
	for _, p := range ps.All() {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c", "d", "e", "f"}) {
		t.Errorf("%q", names)
	}
}

// A mistake is reported once, however many profiles extend the one that has it.
func TestBasesThatAreMissing(t *testing.T) {
	t.Parallel()
	ps, _, found := read(t, "{a: {extends: b}, b: {extends: c}, c: {extends: b}, d: {extends: edti}, e: {extends: d}, f: {git: none}}")
	for range 2 {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			if p, ok := ps.Find(name); ok || p.Name != "" {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
	want := []string{`m.yaml:1:59: circular extends: b -> c -> b; let one of them extend a preset`, `m.yaml:1:76: unknown profile "edti"; did you mean "edit"?`}
	if diff := cmp.Diff(want, lines(found)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if all := ps.All(); len(all) != 1 || all[0].Name != "f" {
		t.Errorf("%+v", all)
	}
	body := Read(ps.Body("e").Value, "file")
	if p, ok := ps.Extend(body); ok || p.Name != "" {
		t.Errorf("%+v", p)
	}
	if p, ok := ps.Extend(Read(ps.Body("f").Value, "file")); !ok || p.Name != "file" || len(p.Rules) != 1 {
		t.Errorf("%+v", p)
	}
}

// The digest is that of the content: not of its position, nor of examples.
func TestDigestsOfProfiles(t *testing.T) {
	t.Parallel()
	digest := func(text string) string {
		ps, _, found := read(t, text)
		p, ok := ps.Find("p")
		if !ok || lines(found) != nil {
			t.Fatal(lines(found))
		}
		return p.Digest
	}
	seen := map[string]string{}
	for _, body := range []string{
		"{}", "{extends: edit}", "{extends: build}", "{permission: deny}", "{permission: allow}", "{permission: {bash: deny}}", "{permission: {bash: {a: deny}}}", "{network: allow}", "{network: [a]}",
		"{setup_network: deny}", "{setup_network: [a]}", "{cache: none}", "{cache: [go]}", "{env: [A]}", "{git: none}", "{git: write}", "{permission: {read: {'~/x': deny}}}", "{permission: {read: {'/home/ann/x': deny}}}",
	} {
		is := digest("{p: " + body + "}")
		if before, twice := seen[is]; twice {
			t.Errorf("%s has the digest of %s", body, before)
		}
		seen[is] = body
		if digest("\n\n  p: "+body) != is {
			t.Errorf("%s: the digest depends on the line", body)
		}
	}
	if digest("{p: {examples: [{deny: edit, subject: x}]}}") != digest("{p: {}}") {
		t.Error("an example changes the digest")
	}
}

// Typing mistakes in names of permissions are known only with all tools; variables with keys, with all providers.
func TestNamesThatNeedAllManifests(t *testing.T) {
	t.Parallel()
	ps, _, found := read(t, "{p: {permission: {bsah: deny, reed: deny, edti: deny, gh_lsit: allow, 'e*': deny}, env: [CI, MY_API_KEY, my_api_key, TOKEN, ACTIONS_ID_TOKEN_REQUEST_TOKEN, AWS_SESSION_TOKEN]}}")
	if got := lines(found); got != nil {
		t.Fatal(got)
	}
	ps.Check(Vocabulary{Tools: []string{"reed"}, Servers: []string{"edt"}, Keys: []string{"TOKEN"}})
	const key = " is an API key or named like one, which commands must not see; remove it: millhand reads API keys itself"
	want := []string{
		`m.yaml:1:29: unknown permission "bsah"; did you mean "bash"?`,
		`m.yaml:1:104: "MY_API_KEY"` + key, `m.yaml:1:116: "my_api_key"` + key, `m.yaml:1:128: "TOKEN"` + key, `m.yaml:1:135: "ACTIONS_ID_TOKEN_REQUEST_TOKEN"` + key,
		`m.yaml:1:167: "AWS_SESSION_TOKEN" is a credential of a cloud, with which models can be called, and commands must not see it; remove it, or pass a credential with fewer rights in a variable with another name`,
	}
	if diff := cmp.Diff(want, lines(found)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for word, want := range map[string]string{"bsah": "bash", "bash ": "bash", "gti": "git", "mine": "", "webfetchh": "webfetch"} {
		if got := similarPermission(word); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestPoliciesBoundProfiles(t *testing.T) {
	t.Parallel()
	bound := func(key policy.Key, allow ...string) policy.Policy {
		return policy.Policy{Name: "p.yaml", Rules: []policy.Rule{{Key: key, Allow: allow, Source: "p.yaml:1"}}}
	}
	for _, c := range []struct {
		body    string
		policy  policy.Policy
		refused string
	}{
		{"network: [i.example]", bound(policy.Hosts, "h.example"), `the host "i.example"`},
		{"network: [h.example]", bound(policy.Hosts, "h.example"), ""},
		{"network: allow", bound(policy.Hosts, "h.example"), ""}, // the policy bounds it at run time
		{"network: allow", policy.ForUntrusted(nil), "network access"},
		{"setup_network: [h.example]", bound(policy.Hosts, "h.example"), ""},
		{"setup_network: [i.example]", bound(policy.Hosts, "h.example"), `the host "i.example"`},
		{"setup_network: [i.example]", bound(policy.SetupNetwork, "h.example"), `the host "i.example"`},
		{"setup_network: [registries]", bound(policy.SetupNetwork, "h.example"), ""},
		{"cache: auto", bound(policy.Cache), "build caches"},
		{"cache: [go]", bound(policy.Cache), `the cache "go"`},
		{"cache: [go]", bound(policy.Cache, "go"), ""},
		{"cache: none", bound(policy.Cache), ""},
		{"env: [HOME]", bound(policy.Env, "CI"), "the environment variable HOME"},
		{"permission: {external_directory: {'/etc/*': allow}}", bound(policy.Paths, "/work"), `the path "/etc/*"`},
		{"permission: {external_read: {'/etc/a?': allow}}", bound(policy.Paths, "/work"), `the path "/etc/a?"`},
		{"permission: {external_directory: allow}", bound(policy.Paths, "/work"), `the path "*"`},
		{"permission: {external_directory: {'/etc/*': deny}}", bound(policy.Paths, "/work"), ""},
		{"permission: {external_directory: {'/work/a*': allow}}", bound(policy.Paths, "/work"), ""},
		{"permission: {external_directory: {'/workers*': allow}}", bound(policy.Paths, "/work"), `the path "/workers*"`},
		{"permission: {external_directory: {'/work/*': allow}}", bound(policy.Paths, "/work"), ""},
		{"permission: {read: {'/etc/*': allow}}", bound(policy.Paths, "/work"), ""},
		{"permission: {external_directory: {'/etc/*': allow}}", bound(policy.Env), ""},
	} {
		_, _, found := read(t, "{p: {"+c.body+"}}", c.policy)
		got := strings.Join(lines(found), "\n")
		if c.refused == "" && got != "" || c.refused != "" && !strings.Contains(got, ": "+c.refused+" not allowed by ") {
			t.Errorf("%s under %s: %q, want %q", c.body, c.policy.Rules[0].Key, got, c.refused)
		}
	}
}

func TestLimitsOfProfiles(t *testing.T) {
	t.Parallel()
	names := func(n int, form string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(form, i)
		}
		return strings.Join(all, ", ")
	}
	for text, refused := range map[string]bool{
		"{p: {env: [" + names(MaxEntries, "A%d") + "]}}":                                              false,
		"{p: {env: [" + names(MaxEntries, "A%d") + "], git: none}}":                                   true,
		"{p: {cache: [" + names(MaxEntries, "go # %d\n") + "]}}":                                      false,
		"{p: {permission: {edit: {" + names(MaxEntries+1, "a%d: deny") + "}}, network: [h.example]}}": true,
	} {
		ps, _, found := read(t, text)
		got := strings.Join(lines(found), "\n")
		if refused != (got == `m.yaml:1:15: the profile has more than 2000 entries; use wildcards`) {
			t.Errorf("%.40s: %s", text, got)
		}
		if p, _ := ps.Find("p"); refused && (p.Rules != nil || p.Env != nil) {
			t.Errorf("%.40s: %d rules, %d variables", text, len(p.Rules), len(p.Env))
		}
	}
	if ps, ok, found := read(t, "{"+names(maxProfiles+1, "p%d: {git: none}")+"}"); ok || len(ps.All()) > 0 || strings.Join(lines(found), "") != `m.yaml:1:11: more than 100 profiles; spread them over several manifests` {
		t.Errorf("%t, %q", ok, lines(found))
	}
	if _, ok, found := read(t, "{"+names(maxProfiles, "p%d: {git: none}")+"}"); !ok || lines(found) != nil {
		t.Errorf("%q", lines(found))
	}
}

func TestExamplesThatFailAreProblems(t *testing.T) {
	t.Parallel()
	p := permission.Profile{
		Name:  "mine",
		Rules: []permission.Rule{{Permission: "bash", Pattern: "git *", Effect: permission.Allow, Source: "m.yaml:3"}},
		Examples: []permission.Example{
			{Effect: permission.Allow, Tool: "bash", Subject: "git status", Source: "m.yaml:7:9"},
			{Effect: permission.Deny, Tool: "bash", Subject: "git push", Source: "c:m.yaml:8:9"},
			{Effect: permission.Allow, Tool: "edit", Subject: "a.go", Source: "m.yaml:9:9"},
			{Effect: permission.Allow, Tool: "edit", Subject: "b.go", Source: "a file:x"},
		},
	}
	got := CheckExamples(p, func(tool, subject string) permission.Decision { return p.Decide(permission.Need(tool, subject)) })
	want := []string{
		`c:m.yaml:8:9: profile mine: bash "git push" is allowed, and the example expects deny: bash: {"git *": allow} (m.yaml:3); change the rules or the example`,
		`m.yaml:9:9: profile mine: edit "a.go" is denied, and the example expects allow: no rule allows it (profile mine); change the rules or the example`,
		`a file:x: profile mine: edit "b.go" is denied, and the example expects allow: no rule allows it (profile mine); change the rules or the example`,
	}
	if diff := cmp.Diff(want, strings.Split(got.Error(), "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// Keys of rules are written in two forms, and so are their patterns: the schema of manifests follows from this type.
func TestTheTypeOfRulesHasItsForms(t *testing.T) {
	t.Parallel()
	rules := RulesType()
	patterns := rules.Or.Elem
	if rules.Or.Names != "PERMISSION" || patterns.Or.Names != "PATTERN" || patterns.Or.Elem.Or != nil {
		t.Errorf("%+v", rules)
	}
	for _, one := range []form.Type{rules, *patterns, *patterns.Or.Elem} {
		if one.Name != "enum" || !slices.Equal(one.Values, []string{"allow", "deny"}) {
			t.Errorf("%+v", one)
		}
	}
}
