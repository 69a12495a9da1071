package expand

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

const someHooks = `profile: edit
repos: [{url: "https://git.example/o/r"}]
hooks:
  run_start: [{run: [./run.sh, -v]}]
  before_tool:
    - {run: scripts/guard.sh --strict, tools: [bash, "files_*"]}
    - {run: audit, time: 5s, optional: true}
`

func TestHooks(t *testing.T) {
	opts := options(dirWith(t, map[string]string{
		"m.yaml": oneTask + someHooks, "n.yaml": "version: 1\nmodel: openai/m\nrepos: [{url: \"https://git.example/o/r\"}]\ntasks: [{id: b, prompt: p}]\nhooks:\n  before_tool: [{run: audit, time: 5s, optional: true}]\n",
		"run.sh": "#!/bin/sh\n", "scripts/guard.sh": "#!/bin/sh\n",
	}))
	if err := os.Chmod(filepath.Join(opts.Dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := Load(t.Context(), []string{"m.yaml", "n.yaml"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	dir := opts.Dir
	want := []tasks.Hook{
		{Name: "run_start", On: tasks.RunStart, Command: []string{filepath.Join(dir, "run.sh"), "-v"}, Time: 30 * time.Second, Source: "m.yaml:7"},
		{Name: "before_tool[0]", On: tasks.BeforeTool, Command: []string{"bash", "-c", filepath.Join(dir, "scripts/guard.sh") + " --strict"}, Tools: []string{"bash", "files_*"}, Time: 30 * time.Second, Source: "m.yaml:9"},
		{Name: "before_tool[1]", On: tasks.BeforeTool, Command: []string{"bash", "-c", "audit"}, Time: 5 * time.Second, Optional: true, Source: "m.yaml:10"},
	}
	if diff := cmp.Diff(want, p.Hooks, cmpopts.IgnoreFields(tasks.Hook{}, "Profile", "Readable")); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	for i, name := range []string{"edit", "", ""} {
		if got := p.Hooks[i].Profile.Name; got != name {
			t.Errorf("%s: profile %q, want %q", p.Hooks[i].Name, got, name)
		}
	}
	for i, path := range []string{"", "scripts"} {
		if !slices.ContainsFunc(p.Hooks[i].Readable, func(r tasks.Readable) bool { return r.Path == filepath.Join(dir, path) }) {
			t.Errorf("%s can read %v, not %s", p.Hooks[i].Name, p.Hooks[i].Readable, path)
		}
	}
}

func TestMistakesInHooks(t *testing.T) {
	for text, want := range map[string]string{
		`job_starts: []`:                                    `m.yaml:5:3: unknown key "job_starts"; did you mean "job_start"?`,
		`job_start: {run: x}`:                               `m.yaml:5:14: "job_start" must be a list, not a mapping; write [A, B]`,
		`job_start: [5]`:                                    `m.yaml:5:15: entry 1 of "job_start" must be a mapping, not the number 5; write KEY: VALUE`,
		`job_start: [{time: 5s}]`:                           `m.yaml:5:15: missing key "run" in entry 1 of "job_start"; add run: COMMAND`,
		`job_start: [{run: "echo ${{ repo.name }}"}]`:       `m.yaml:5:21: "run" must not contain variables; write a fixed command; tools and hooks read JSON from standard input`,
		`job_start: [{run: [./no]}]`:                        `m.yaml:5:21: program "./no": not found; check its path; it is relative to the manifest`,
		`job_start: [{run: x, tools: [bash]}]`:              `m.yaml:5:24: unknown key "tools"; known here: optional, run, time, write`,
		`before_tool: [{run: x, tools: bash}]`:              `m.yaml:5:33: "tools" must be a list, not the string "bash"; put it in brackets: [bash]`,
		`before_tool: [{run: x, tools: [""]}]`:              `m.yaml:5:34: entry 1 of "tools" is empty; give it a value, or remove it`,
		`after_tool: [{run: x, time: 0s}]`:                  `m.yaml:5:31: "time" must be more than 0; write for example 20m`,
		`before_commit: [{run: x, optional: perhaps}]`:      `m.yaml:5:38: "optional" must be true or false, not the string "perhaps"; write true or false`,
		`after_commit: [{run: x, environment: {TOKEN: x}}]`: `m.yaml:5:27: unknown key "environment"; known here: optional, run, time, write`,
	} {
		_, err := loadText(t, oneTask+"hooks:\n  "+text+"\n", nil, tasks.Overrides{})
		if diff := cmp.Diff([]string{want}, lines(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestPoliciesRefuseHooks(t *testing.T) {
	text := oneTask + "hooks:\n  before_tool: [{run: guard}]\n  job_end: [{run: clean}]\n"
	for name, c := range map[string]struct {
		policy policy.Policy
		want   []string
	}{
		"untrusted": {policy.ForUntrusted(nil), []string{
			`m.yaml:5:17: the hook before_tool not allowed by extensions (--untrusted); remove it, or run the manifest without --untrusted if you trust its author`,
			`m.yaml:6:13: the hook job_end not allowed by extensions (--untrusted); remove it, or run the manifest without --untrusted if you trust its author`,
		}},
		"one of them": {
			policy.Policy{Name: "p.yaml", Rules: []policy.Rule{{Key: policy.Extensions, Allow: []string{"before_tool"}, Source: "p.yaml:3"}}},
			[]string{`m.yaml:6:13: the hook job_end not allowed by extensions (p.yaml:3); remove it, or change the policy`},
		},
	} {
		opts := options(dirWith(t, map[string]string{"m.yaml": text}))
		opts.Policies = policy.Set{c.policy}
		_, err := Load(t.Context(), []string{"m.yaml"}, opts)
		got := slices.DeleteFunc(lines(t, err), func(line string) bool { return !slices.Contains(c.want, line) })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// A policy limits the profile of the hooks of a run, too.
func TestPoliciesLimitHooksOfRuns(t *testing.T) {
	readonly, _ := permission.Preset("readonly")
	opts := options(dirWith(t, map[string]string{"m.yaml": oneTask + "profile: full\nhooks:\n  run_end: [{run: clean}]\n"}))
	opts.Policies = policy.Set{{Name: "p.yaml", MaxProfile: &readonly}}
	p, err := Load(t.Context(), []string{"m.yaml"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	if p.Hooks[0].Profile.Allows("edit", "x") {
		t.Error("the hook may edit files although the policy limits all profiles to readonly")
	}
}

// The hash of a plan includes its hooks, and plans without any have the hash of earlier
// releases.
func TestHashOfHooks(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		"", "profile: full\n", "hooks: {job_start: [{run: x}]}\n", "hooks: {job_end: [{run: x}]}\n", "hooks: {job_start: [{run: y}]}\n", "hooks: {job_start: [{run: x, time: 1s}]}\n",
		"hooks: {run_start: [{run: x}]}\n", "tasks: [{id: a, prompt: p, profile: build}]\nprofile: full\nhooks: {run_start: [{run: x}]}\n", "tasks: [{id: a, prompt: p, profile: build}]\nprofile: edit\nhooks: {run_start: [{run: x}]}\n",
	} {
		full := oneTask + text
		if len(text) > 6 && text[:6] == "tasks:" {
			full = "version: 1\nmodel: openai/m\n" + text
		}
		p, err := loadText(t, full, nil, tasks.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		if before, twice := seen[p.Hash]; twice {
			t.Errorf("%q and %q have the same hash", before, text)
		}
		seen[p.Hash] = text
	}
	for _, text := range []string{"hooks: {}\n", "hooks: {job_start: []}\n"} {
		p, err := loadText(t, oneTask+text, nil, tasks.Overrides{})
		if err != nil || seen[p.Hash] != "" {
			t.Errorf("%q: %v, or another hash than without hooks", text, err)
		}
	}
}
