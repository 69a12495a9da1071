package expand

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest"
)

func TestMistakesInWhatAManifestDefines(t *testing.T) {
	checkMistakes(t, []mistake{
		{"agents", `agents:
  "a b": {prompt: x}
  c: {promt: x, mode: sub, turns: 0, temperature: 2.5, effort: top, max_output: none}
  d: {prompt: "", description: 5, profile: edti, model: [openai/a]}
  e: {model: opnai/x, prompt: "${{ vars.x }} ${{ env.NOPE }}"}
  f: {mode: subagent}
  plan: {mode: all}
  g: {prompt: "Look at !` + "`git log`" + `."}
  h: x
` + oneTask, []string{
			`m.yaml:2:3: invalid agent name "a b"; use letters, digits, ., _ and -`,
			`m.yaml:3:7: unknown key "promt"; did you mean "prompt"?`,
			`m.yaml:3:23: "mode" must be one of primary, subagent, all, not "sub"; write one of them`,
			`m.yaml:3:35: "turns" must be an integer of at least 1, not the number 0; write 1 or more`,
			`m.yaml:3:51: "temperature" must be a number from 0 to 2, not the number 2.5; write for example 0.2`,
			`m.yaml:3:64: "effort" must be one of none, minimal, low, medium, high, xhigh, max, not "top"; did you mean "low"?`,
			`m.yaml:3:81: "max_output" must be an integer of at least 1, not the string "none"; write a whole number without a unit`,
			`m.yaml:4:15: "prompt" is empty; give it a value, or remove it`,
			`m.yaml:4:32: "description" must be a string, not the number 5; put it in quotes`,
			`m.yaml:4:44: unknown profile "edti"; did you mean "edit"?`,
			`m.yaml:4:57: an agent must have one model, not a list; name one; a task or the manifest may have a list`,
			`m.yaml:5:14: unknown provider "opnai"; did you mean "openai"?`,
			`m.yaml:5:32: the variable "vars.x" is not known here; write ${{ env.NAME }}: this text is the same for all jobs`,
			`m.yaml:6:3: agent "f": missing description, which models need to choose it; add description: TEXT, or mode: primary`,
			`m.yaml:7:3: agent "plan": missing description, which models need to choose it; add description: TEXT, or mode: primary`,
			"m.yaml:8:15: !`...` commands are only supported in prompts of tasks; write it there, or under setup: and let the agent read what it wrote",
			`m.yaml:9:6: "h" must be a mapping, not the string "x"; write KEY: VALUE`,
		}},
		{"the agent of a task", `agents: {careful: {prompt: x}}
` + head + `tasks:
- {id: a, prompt: p, agent: carful}
- {id: b, prompt: p, agent: someone-else}
- {id: c, prompt: p, agent: [build]}
`, []string{
			`m.yaml:5:29: unknown agent "carful"; did you mean "careful"?`,
			`m.yaml:6:29: unknown agent "someone-else"; known agents: build, plan, explore, general, careful`,
			`m.yaml:7:29: "agent" must be a string, not a list; write one string`,
		}},
		{"providers", `providers:
  "a/b": {kind: openai, base_url: "https://h"}
  script: {base_url: "https://h"}
  replay: {}
  c: {kind: opnai, base_url: h, key_env: sk-1, headers: [a], query: {a: [b]}}
  d: {}
  e: {kind: openai, base_url: "https://me:secret@h/v1"}
  f: {kind: openai, base_url: "ftp://h"}
  g: {kind: openai, base_url: "https://h/v1?a=b"}
  h: {kind: openai, base_url: "https://h/v1#x"}
  i: {kind: openai, base_url: "https://${{ env.H }}/v1"}
  openai: {headers: {"a b": c, X-Task: "${{ task.id }}", X-Nope: "${{ env.NOPE }}"}, query: {x: "a\nb"}}
` + oneTask, []string{
			`m.yaml:2:3: "a/b" is not a name; use letters, digits, ., _ and -`,
			`m.yaml:3:3: the provider name "script" is reserved for model files; choose another name`,
			`m.yaml:4:3: the provider name "replay" is reserved for model files; choose another name`,
			`m.yaml:5:13: "kind" must be one of ` + strings.Join(kinds.Endpoints(), ", ") + `, not "opnai"; did you mean "openai"?`,
			`m.yaml:5:30: "base_url" is not an http or https URL; write for example https://HOST/v1`,
			`m.yaml:5:42: "key_env" must be the name of an environment variable; write the name alone, such as EXAMPLE_API_KEY, and never the key`,
			`m.yaml:5:57: "headers" must be a mapping, not a list; write KEY: VALUE`,
			`m.yaml:5:73: "a" must be a string, number or boolean, not a list; write one value`,
			`m.yaml:6:3: missing key "kind" in "d"; write {kind: openai, base_url: https://HOST/v1}`,
			`m.yaml:6:3: missing key "base_url" in "d"; write {kind: openai, base_url: https://HOST/v1}`,
			`m.yaml:7:31: "base_url" must not contain credentials; remove them, and name the variable with the key in key_env:`,
			`m.yaml:8:31: "base_url" is not an http or https URL; write for example https://HOST/v1`,
			`m.yaml:9:31: "base_url" must not contain a query or fragment; write parameters under query:`,
			`m.yaml:10:31: "base_url" must not contain a query or fragment; write parameters under query:`,
			`m.yaml:11:31: "base_url" is not an http or https URL; write for example https://HOST/v1`,
			`m.yaml:12:22: invalid header name "a b"; write for example X-Team`,
			`m.yaml:12:41: the variable "task.id" is not known here; write ${{ env.NAME }}: this text is the same for all jobs`,
			`m.yaml:12:67: the environment variable NOPE is not set; set it, or use vars: for a value of the manifest`,
			`m.yaml:12:97: "x" contains a line break after its variables are filled in; write one line`,
		}},
		{"keys that commands must not see", `profiles: {p: {env: [CI, HOUSE_TOKEN, SEARCH_TOKEN, Other_Api_Key]}}
providers: {house: {kind: openai, base_url: "https://h/v1", key_env: HOUSE_TOKEN}}
search: {backend: exa, key_env: SEARCH_TOKEN}
` + oneTask, []string{
			`m.yaml:1:26: "HOUSE_TOKEN" is an API key or named like one, which commands must not see; remove it: millhand reads API keys itself`,
			`m.yaml:1:39: "SEARCH_TOKEN" is an API key or named like one, which commands must not see; remove it: millhand reads API keys itself`,
			`m.yaml:1:53: "Other_Api_Key" is an API key or named like one, which commands must not see; remove it: millhand reads API keys itself`,
		}},
		{"secrets of clouds that commands must not see", `profiles: {p: {env: [AWS_REGION, AWS_SECRET_ACCESS_KEY, AZURE_CLIENT_SECRET]}}
` + oneTask, []string{
			`m.yaml:1:34: "AWS_SECRET_ACCESS_KEY" is a credential of a cloud, with which models can be called, and commands must not see it; remove it, or pass a credential with fewer rights in a variable with another name`,
			`m.yaml:1:57: "AZURE_CLIENT_SECRET" is a credential of a cloud, with which models can be called, and commands must not see it; remove it, or pass a credential with fewer rights in a variable with another name`,
		}},
	})
}

// What is relative to the manifest is something else in another directory, although it is written alike.
func TestDefinitionsWithPathsOfTwoDirectories(t *testing.T) {
	text := func(id string) string {
		return head + `providers: {h: {kind: openai, base_url: "https://h/v1", key_command: [./run.sh]}}
tools: {t: {description: d, command: [./run.sh]}}
hooks: {job_end: [{run: [./run.sh]}, {run: "true"}]}
mcp: {m: {command: [./run.sh]}, n: {command: [n]}}
lsp: {l: {command: [./run.sh], extensions: [.x]}}
js: {read: [d]}
tools_from: [t.js]
plugins: [./p.js]
tasks: [{id: ` + id + `, prompt: p}]
`
	}
	files := map[string]string{}
	for _, name := range []string{"a", "b"} {
		files[name+"/m.yaml"], files[name+"/n.yaml"] = text(name), text(name+"2")
		for _, file := range []string{"run.sh", "t.js", "p.js", "d/x"} {
			files[name+"/"+file] = "#!/bin/sh\n"
		}
	}
	dir := dirWith(t, files)
	for _, name := range []string{"a", "b"} {
		if err := os.Chmod(filepath.Join(dir, name, "run.sh"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(t.Context(), []string{"a/m.yaml", "a/n.yaml"}, options(dir)); err != nil {
		t.Errorf("in one directory: %v", err)
	}
	_, err := Load(t.Context(), []string{"a/m.yaml", "b/m.yaml"}, options(dir))
	var want []string
	for _, what := range []string{`3:13: the provider "h"`, `4:9: the tool "t"`, `6:7: the MCP server "m"`, `7:7: the language server "l"`, `8:1: the js`, `9:14: the tool file "t.js"`, `10:11: the plugin "./p.js"`} {
		position, title, _ := strings.Cut(what, ": ")
		line, _, _ := strings.Cut(position, ":")
		want = append(want, "b/m.yaml:"+position+": "+title+" differs from the one at a/m.yaml:"+line+"; make them equal, or rename one of them")
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	hooks := func(id string) string {
		return head + "hooks: {job_end: [{run: [./run.sh]}, {run: 'true'}]}\ntasks: [{id: " + id + ", prompt: p}]\n"
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name, "h.yaml"), []byte(hooks(name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := Load(t.Context(), []string{"a/h.yaml", "b/h.yaml"}, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range plan.Hooks {
		got = append(got, strings.TrimPrefix(h.Command[len(h.Command)-1], dir))
	}
	if diff := cmp.Diff([]string{"/a/run.sh", "true", "/b/run.sh"}, got); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

func TestManifestsThatDefineTheSameDifferently(t *testing.T) {
	shared := `agents: {a: {prompt: x, profile: p}}
providers: {h: {kind: openai, base_url: "https://h/v1", headers: {A: "${{ env.BUILD }}"}}}
tools: {t: {description: d, command: c}}
search: {backend: exa}
`
	other := `agents: {a: {prompt: x, profile: p}, b: {prompt: y}}
providers: {h: {kind: openai, base_url: "https://h/v1", headers: {A: "17"}}}
tools: {t: {description: d, command: [c]}}
search: {backend: exa, key_env: K}
`
	task := func(id string) string {
		return head + "profiles: {p: {extends: edit}}\ntasks: [{id: " + id + ", prompt: p}]\n"
	}
	dir := dirWith(t, map[string]string{
		"a.yaml": shared + task("a"), "b.yaml": shared + task("b"), "c.yaml": other + task("c"),
		"d.yaml": "agents: {a: {prompt: x, profile: p}}\nprofiles: {p: {extends: review}}\n" + head + "tasks: [{id: d, prompt: p}]\n",
		"e.yaml": head + "tasks: [{id: e, prompt: p, agent: a, model: h/m}]\nbatch: true\ntool_output: {lines: 5}\n",
	})
	_, err := Load(t.Context(), []string{"a.yaml", "c.yaml", "d.yaml"}, options(dir))
	want := []string{
		`c.yaml:2:13: the provider "h" differs from the one at a.yaml:2; make them equal, or rename one of them`,
		`c.yaml:3:9: the tool "t" differs from the one at a.yaml:3; make them equal, or rename one of them`,
		`c.yaml:4:1: the search differs from the one at a.yaml:4; make them equal, or rename one of them`,
		`d.yaml:1:10: the agent "a" differs from the one at a.yaml:1; make them equal, or rename one of them`,
	}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	p, err := Load(t.Context(), []string{"a.yaml", "b.yaml", "e.yaml"}, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Agents) != 5 || len(p.Providers) != 1 || len(p.Tools) != 1 || p.Search.Backend != "exa" || !p.Batch || p.Output.Lines != 5 {
		t.Errorf("plan %+v", p)
	}
	if j := p.Jobs[2]; j.Agent != "a" || j.Model != "h/m" {
		t.Errorf("job %+v", j)
	}
}

func TestTheNearestModelApplies(t *testing.T) {
	manifest := `version: 1
model: [openai/m, "script:s.yaml"]
agents: {own: {model: openai/agent}, none: {prompt: x}}
tasks:
- {id: manifest, prompt: p, agent: none}
- {id: agent, prompt: p, agent: own}
- {id: task, prompt: p, agent: own, model: [openai/a, openai/b, "replay:s.yaml"]}
- {id: one, prompt: p, model: openai/c}
`
	for _, tt := range []struct {
		name     string
		override string
		want     map[string][]string
		agent    bool // whether the agent keeps its model
	}{
		{"without a flag", "", map[string][]string{
			"manifest": {"openai/m", "script:s.yaml"}, "agent": {"openai/agent"}, "task": {"openai/a", "openai/b", "replay:s.yaml"}, "one": {"openai/c"},
		}, true},
		{"with a flag, which replaces every model", "openai/x", map[string][]string{
			"manifest": {"openai/x"}, "agent": {"openai/x"}, "task": {"openai/x"}, "one": {"openai/x"},
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := loadText(t, manifest, besideManifest, tasks.Overrides{Model: tt.override})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for _, j := range p.Jobs {
				got[j.Task] = append([]string{j.ModelName}, modelsAsWritten(j.Fallback)...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("models (-want +got):\n%s", diff)
			}
			if a := p.Agents[4]; a.Name != "own" || (a.Model != nil) != tt.agent {
				t.Errorf("agent %+v", a)
			}
		})
	}
}

func TestTheNearestSamplingAndTurnsApply(t *testing.T) {
	p := mustLoad(t, head+`effort: low
temperature: 1
max_output: 100
limits: {turns: 60}
agents: {a: {temperature: 0, turns: 20, effort: high}, b: {turns: 500}, c: {temperature: 2, turns: 20}}
tasks:
- {id: one, prompt: p}
- {id: two, prompt: p, agent: a}
- {id: three, prompt: p, agent: c, limits: {turns: 5}}
- {id: four, prompt: p, agent: b}
`, tasks.Overrides{})
	zero, one, two := 0.0, 1.0, 2.0
	want := []tasks.Sampling{{Effort: "low", Temperature: &one, MaxOutput: 100}, {Effort: "high", Temperature: &zero, MaxOutput: 100}, {Effort: "low", Temperature: &two, MaxOutput: 100}, {Effort: "low", Temperature: &one, MaxOutput: 100}}
	turns := []int{60, 20, 5, 60}
	for i, j := range p.Jobs {
		if diff := cmp.Diff(want[i], j.Sampling); diff != "" {
			t.Errorf("job %s: sampling (-want +got):\n%s", j.ID, diff)
		}
		if j.Limits.Turns != turns[i] {
			t.Errorf("job %s: %d turns, want %d", j.ID, j.Limits.Turns, turns[i])
		}
	}
	if p = mustLoad(t, head+"agents: {b: {turns: 500}}\ntasks: [{id: a, prompt: p, agent: b}]", tasks.Overrides{}); p.Jobs[0].Limits.Turns != 500 {
		t.Errorf("%d turns, want those of the agent, not the default", p.Jobs[0].Limits.Turns)
	}
}

func TestAgentsAreBuiltInOrOfTheManifest(t *testing.T) {
	p := mustLoad(t, oneTask+`profiles: {p: {extends: build}}
agents:
  mine: {description: Mine., profile: p}
  quiet: {prompt: x}
  shy: {description: Shy., mode: primary}
  explore: {profile: review, prompt: Look.}
  build: {description: Not by itself.}
  plan: {description: Plans., mode: all}
  general: {mode: primary}
`, tasks.Overrides{})
	type agent struct{ name, most, prompt string }
	var all []agent
	startable := map[string]bool{}
	for _, a := range p.Agents {
		most := ""
		if a.Max != nil {
			most = a.Max.Name
		}
		all = append(all, agent{a.Name, most, a.Prompt})
		startable[a.Name] = a.Description != ""
	}
	want := []agent{{"build", "", ""}, {"plan", "review", ""}, {"explore", "review", "Look."}, {"general", "", ""}, {"mine", "p", ""}, {"quiet", "", "x"}, {"shy", "", ""}}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(agent{})); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	may := map[string]bool{"build": false, "plan": true, "explore": true, "general": false, "mine": true, "quiet": false, "shy": false}
	if diff := cmp.Diff(may, startable); diff != "" {
		t.Errorf("agents that may be started (-want +got):\n%s", diff)
	}
	if len(p.Agents[3].Without) == 0 || len(p.Agents[0].Without) > 0 {
		t.Error("general has a todo list, or build has none")
	}
	if d := p.Jobs[0].Profile.Under(*p.Agents[1].Max).Decide(permission.Need("edit", "main.go")); d.Allowed() {
		t.Error("plan may edit")
	}
}

func TestRulesMayNameTheToolsOfTheManifest(t *testing.T) {
	tools := "tools: {lint: {description: d, command: c}}\n"
	rules := "profiles: {p: {permission: {lint: allow}}}\nprofile: p\n"
	for _, manifest := range []string{tools + rules, rules + tools} {
		if d := mustLoad(t, oneTask+manifest, tasks.Overrides{}).Jobs[0].Profile.Decide(permission.Need("lint", "*")); !d.Allowed() {
			t.Errorf("the tool is denied by %s", d.Rule)
		}
	}
	_, err := loadText(t, oneTask+rules, nil, tasks.Overrides{})
	want := []string{`m.yaml:4:29: unknown permission "lint"; did you mean "list"?`}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	dir := dirWith(t, map[string]string{"m.yaml": oneTask + tools, "p.yaml": "permission: {lint: allow}\nenv: [A_API_KEY]\n"})
	_, err = manifest.LoadProfile(t.Context(), "p.yaml", "m.yaml", options(dir))
	want = []string{`p.yaml:2:7: "A_API_KEY" is an API key or named like one, which commands must not see; remove it: millhand reads API keys itself`}
	if diff := cmp.Diff(want, lines(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestSchemasAreValidJSON(t *testing.T) {
	p := mustLoad(t, head+`tasks:
- id: a
  prompt: p
  output:
    schema:
      properties: {a: {type: integer, minimum: -1, maximum: 1_000, default: 0x10}, b: {enum: ["5", 5, 2.50, yes, true, null, 2020-01-01, []]}}
      examples: [{}]
`, tasks.Overrides{})
	got, err := json.Marshal(p.Jobs[0].Schema)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"examples":[{}],"properties":{"a":{"default":16,"maximum":1000,"minimum":-1,"type":"integer"},"b":{"enum":["5",5,2.5,"yes",true,null,"2020-01-01",[]]}},"type":"object"}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func TestHashCoversDefinitionsNotLocations(t *testing.T) {
	manifest := `version: 1
model: [openai/m, "script:s.yaml"]
effort: low
agents: {a: {prompt: "x ${{ env.HOME }}", profile: p, model: "replay:s.yaml", turns: 5}}
profiles: {p: {extends: edit}}
providers: {h: {kind: openai, base_url: "https://h/v1", headers: {A: "${{ env.HOME }}"}, query: {b: c}}}
search: {backend: exa}
tools: {t: {description: d, command: [./run, x], parameters: {required: [a]}}}
skills: [k]
tool_output: {lines: 5}
tasks: [{id: a, prompt: p, output: {schema: {required: [b]}}}]
`
	hash := func(manifest, home string) string {
		t.Helper()
		dir := dirWith(t, map[string]string{"m.yaml": manifest, "s.yaml": "", "k/": "", "k2/": "", "run": "", "sub/run": ""})
		for _, program := range []string{"run", "sub/run"} {
			if err := os.Chmod(filepath.Join(dir, program), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		o := options(dir)
		o.Getenv = func(string) string { return home }
		p, err := Load(t.Context(), []string{filepath.Join(dir, "m.yaml")}, o)
		if err != nil {
			t.Fatal(err)
		}
		return p.Hash
	}
	want := hash(manifest, "/home/ann")
	if hash(manifest, "/home/bob") != want {
		t.Error("the hash depends on the machine")
	}
	for old, change := range map[string]string{
		`[openai/m, "script:s.yaml"]`: "openai/m", "effort: low": "effort: high", "x ${{": "y ${{", "profile: p, m": "profile: edit, m", "turns: 5": "turns: 6",
		"replay:s.yaml": "script:s.yaml", "extends: edit": "extends: full", "kind: openai": "kind: responses", "A: ": "B: ", "b: c": "b: d", "exa": "exa, key_env: K",
		"./run": "./sub/run", "[./run, x]": "./run x", "[a]": "[c]", "[k]": "[k, k2]", "lines: 5": "bytes: 5", "required: [b]": "required: [c]", "skills:": "batch: true\nskills:",
	} {
		if hash(replaceOnce(t, manifest, old, change), "/home/ann") == want {
			t.Errorf("the hash is the same with %q instead of %q", change, old)
		}
	}
}

func TestJobsShareTheSettingsOfTheirTask(t *testing.T) {
	p := mustLoad(t, head+"temperature: 1\ntasks: [{id: a, prompt: p, model: [openai/a, openai/b], matrix: {k: [1, 2]}, output: {schema: {type: object}}}]", tasks.Overrides{})
	a, b := p.Jobs[0], p.Jobs[1]
	if &a.Fallback[0] != &b.Fallback[0] || a.Sampling.Temperature != b.Sampling.Temperature {
		t.Error("the jobs have copies of the fallbacks or the temperature")
	}
	maps.Copy(a.Schema, map[string]any{"title": "x"})
	if b.Schema["title"] != "x" {
		t.Error("the jobs have copies of the schema")
	}
}
