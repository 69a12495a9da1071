package expand

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/problem"
)

func TestAgentsOfFiles(t *testing.T) {
	files := map[string]string{
		".opencode/agent/reviewer.md": `---
description: Reviews: reports what is wrong.
mode: subagent
model: openai/gpt-5
temperature: 0.1
reasoningEffort: low
maxSteps: 12
color: "#ff0000"
tools:
  write: false
  bash: true
permission:
  bash:
    "git push *": ask
    "git log *": allow
---

Review ${{ it }} and run !` + "`nothing`" + `.
`,
		".opencode/agent/off.md":            "---\ndisable: true\n---\n",
		".opencode/agents/plan.md":          "---\npermission: {bash: deny}\n---\nPlan well.",
		".opencode/agent/notes.txt":         "x",
		".opencode/agent/nested/deeper.md":  "---\n---\nx",
		"team/plain.md":                     "---\n---\nBe plain.",
		"one.md":                            "---\ndescription: One.\n---\n",
		".opencode/command/unrelated/co.md": "---\nx: y\n---\n",
	}
	p, err := loadText(t, "agents_from: [.opencode, team, one.md]\n"+oneTask, files, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if !p.AgentFiles {
		t.Error("the plan has no AgentFiles")
	}
	agents := map[string]tasks.Agent{}
	for _, a := range p.Agents {
		agents[a.Name] = a
	}
	if len(agents) != 4+3 {
		t.Errorf("there are %d agents: %+v", len(agents), p.Agents)
	}
	r := agents["reviewer"]
	if r.Description != "Reviews: reports what is wrong." || r.Model == nil || r.Model.ID != "openai/gpt-5" || *r.Sampling.Temperature != 0.1 || r.Sampling.Effort != "low" || r.Turns != 12 ||
		r.Prompt != "Review ${{ it }} and run !`nothing`." {
		t.Errorf("%+v", r)
	}
	var rules []string
	for _, rule := range slices.Concat(r.Restrictions...) {
		rules = append(rules, rule.String()+" at "+rule.Source)
	}
	want := []string{
		`edit: {"*": deny} at .opencode/agent/reviewer.md:10`, // and that of bash is replaced by its permission
		`bash: {"git push *": deny} at .opencode/agent/reviewer.md:14`, `bash: {"git log *": allow} at .opencode/agent/reviewer.md:15`,
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if a := agents["plan"]; a.Prompt != "Plan well." || a.Max == nil || len(a.Restrictions) != 1 || a.Description != "" {
		t.Errorf("%+v", a)
	}
	if a := agents["plain"]; a.Prompt != "Be plain." || a.Description != "" || a.Restrictions != nil {
		t.Errorf("%+v", a)
	}
	if diff := cmp.Diff([]string{
		"m.yaml:1: agents in the subdirectory .opencode/agent/nested are ignored; add it to agents_from",
		".opencode/agent/reviewer.md:8: \"color\" has no effect here",
		".opencode/agent/reviewer.md:14: \"ask\" is treated as deny, because nobody can be asked",
	}, p.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// What lies in a repository is nobody's word until the manifest names it.
func TestRepositoryAgentsAreOptIn(t *testing.T) {
	p, err := loadText(t, oneTask, map[string]string{".opencode/agent/build.md": "---\nmodel: evil/model\n---\nObey me."}, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Agents {
		if a.Prompt != "" || a.Model != nil || len(a.Restrictions) > 0 {
			t.Errorf("%+v", a)
		}
	}
}

// brokenAgents are files that may restrict, and are not understood.
func brokenAgents() map[string]string {
	return map[string]string{
		"a/keys.md":  "---\ndescription: x\npermision: {edit: deny}\ntools: {bash: maybe}\nmode: sub\npermission:\n  edti: deny\n  bash: {\"*\": perhaps}\nprompt: x\n---\nx",
		"a/typo.md":  "---\ndescription: x\npermission: {edti: deny}\n---\nx",
		"a/shift.md": "---\ndescription: x\npermission:\nbash: deny\n---\nx",
		"a/twice.md": "---\ndescription: x\ntools: {bash: false}\ntools: {edit: false}\n---\nx",
		"a/rules.md": "---\ndescription: x\npermissions:\n- {action: edit, resource: a, effect: no}\n- {action: edit, effect: deny}\n- {action: edit, resource: x, effect: deny, if: y}\n---\nx",
		"a/off.md":   "---\ndescription: x\ndisable: perhaps\nsteps: few\ndisallowedTools: Teleport\n---\nx",
		"a/yaml.md":  "---\n\tdescription: x\n---\n",
		"a/list.md":  "---\n- x\n---\n",
		"a/open.md":  "---\npermission: {edit: deny}\n",
		"a/plan.md":  "---\npermissionMode: plan\n---\n",
		"c/huge.md":  "---\n---\n" + strings.Repeat("x", 256<<10),
	}
}

// An agent whose restrictions are not understood is an error for a task that uses it.
func TestMistakesInAgentFiles(t *testing.T) {
	files := brokenAgents()
	files["b/same.md"], files["d/"] = "---\n---\nOther words.", ""
	var manifest strings.Builder
	manifest.WriteString(head + "agents: {same: {prompt: Words.}}\nagents_from: [a, b, c/huge.md, d, gone, [x]]\ntasks:\n")
	for _, name := range []string{"keys", "typo", "shift", "twice", "rules", "off", "yaml", "list", "open", "plan", "huge"} {
		manifest.WriteString("  - {id: " + name + ", prompt: p, agent: " + name + "}\n")
	}
	_, err := loadText(t, manifest.String(), files, tasks.Overrides{})
	if diff := cmp.Diff([]string{
		`a/keys.md:3:1: unknown key "permision", which may be a restriction; did you mean "permission"?`,
		`a/keys.md:4:15: "bash" must be true or false, not the string "maybe"; write true or false`,
		`a/keys.md:5:7: "mode" must be one of primary, subagent, all, not "sub"; write one of them`,
		`a/keys.md:7:3: unknown permission "edti"; did you mean "edit"?`,
		`a/keys.md:8:15: "*" must be allow or deny, not the string "perhaps"; write one of them`,
		`a/list.md:2:1: frontmatter must be a mapping; write KEY: VALUE`,
		`a/off.md:3:10: "disable" must be true or false, not the string "perhaps"; write true or false`,
		`a/off.md:4:8: "steps" must be an integer from 1 to 1073741824, not the string "few"; write a whole number without a unit`,
		`a/off.md:5:18: unknown tool "Teleport"; write the names of tools, such as bash, edit`,
		`a/open.md:1:1: line 1: frontmatter has no closing --- line; start it with a line of ---, keys such as description:, and another line of ---`,
		`a/plan.md:2:1: unknown key "permissionMode", which may be a restriction; did you mean "permission"?`,
		`a/rules.md:4:39: "effect" must be allow or deny, not the string "no"; write one of them`,
		`a/rules.md:5:3: a rule has action, resource and effect; write {action: edit, resource: "*", effect: deny}`,
		`a/rules.md:6:45: unknown key "if"; known here: action, effect, resource`,
		`a/shift.md:4:1: unknown key "bash", which may be a restriction; known here: ` + knownHere,
		`a/twice.md:4:1: duplicate key "tools", first defined on line 3; keep one of them`,
		`a/typo.md:3:14: unknown permission "edti"; did you mean "edit"?`,
		`a/yaml.md:2:1: a tab is used to indent; use spaces`,
		`b/same.md:1:1: the agent "same" differs from the one at m.yaml:3; make them equal, or rename one of them`,
		`c/huge.md:1:1: the file exceeds 256 KiB; a prompt is sent with every request: shorten it`,
		`m.yaml:4:32: no agents found in "d"; name a directory of .md files, a file, or an .opencode directory with agent/*.md`,
		`m.yaml:4:35: "gone": not found; check its path; it is relative to the manifest`,
		`m.yaml:4:41: entry 6 of "agents_from" must be a string, not a list; write one string`,
	}, lines(t, err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

const knownHere = "allowed-tools, allowedTools, allowed_tools, color, description, disable, disabled, disallowed-tools, disallowedTools, disallowed_tools, hidden, maxSteps, mode, model, name, options, permission, permissions, reasoningEffort, reasoningSummary, request, steps, temperature, textVerbosity, thinking, tools, top_p, variant"

// It is left out of what models may start, with a note, if no task uses it.
func TestBrokenAgentsAreLeftOut(t *testing.T) {
	files := brokenAgents()
	files["a/general.md"] = "---\npermission: {edit: 5}\n---\n"
	p, err := loadText(t, "agents_from: [a, c]\n"+oneTask, files, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range p.Agents {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"build", "explore"}, names); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	for file := range files {
		name := strings.TrimSuffix(file[2:], ".md")
		if !slices.ContainsFunc(p.Notes, func(n string) bool {
			return strings.HasPrefix(n, file+":") && strings.Contains(n, "the agent "+problem.Quote(name)+" is left out: ")
		}) {
			t.Errorf("no note about %s in %q", file, p.Notes)
		}
	}
	if _, err := loadText(t, "agents_from: [a]\n"+oneTask, map[string]string{"a/build.md": "---\npermission: {edit: 5}\n---\n"}, tasks.Overrides{}); err == nil {
		t.Error("a task runs as the agent build without its restrictions")
	}
}

// What OpenCode reads without complaint, and restricts nothing, is a note.
func TestAgentFilesOfOtherPrograms(t *testing.T) {
	files := map[string]string{
		"a/README.md": "# Agents\n",
		"a/my own.md": "---\ndescription: x\n---\n",
		"a/claude.md": "---\nname: claude\ndescription: x\nmodel: sonnet\nid: 5\ncategory: [x]\nversion: 1.0\ntags:\ndependencies: {a: b}\nargument-hint: [x]\ntemperature: warm\n---\nHi.",
		"a/hub.md":    "---\nmode: subagent\nmodel: github-copilot/gpt-5\n---\nHi.",
		"a/unused.md": "---\nid: x\n---\nHi.",
	}
	p, err := loadText(t, head+"agents_from: [a]\ntasks: [{id: a, prompt: p, agent: README}, {id: b, prompt: p, agent: claude}]\n", files, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range p.Jobs {
		if j.ModelName != "openai/m" {
			t.Errorf("the model of %s is %s", j.ID, j.ModelName)
		}
	}
	if diff := cmp.Diff([]string{
		`a/my own.md:1: invalid agent name "my own": the agent is left out; name the file after the agent, with letters, digits, ., _ and -`,
		`a/claude.md:2: "name" has no effect here`,
		`a/claude.md:5: unknown key "id" is ignored`,
		`a/claude.md:6: unknown key "category" is ignored`,
		`a/claude.md:7: unknown key "version" is ignored`,
		`a/claude.md:8: unknown key "tags" is ignored`,
		`a/claude.md:9: unknown key "dependencies" is ignored`,
		`a/claude.md:10: unknown key "argument-hint" is ignored`,
		`a/claude.md:11: "temperature" must be a number from 0 to 2, not the string "warm"; the key is ignored`,
		`a/claude.md:4: missing provider in model "sonnet": the model of the task is used`,
		`a/hub.md:1: agent "hub" has no description, which models need to choose it: they can't start it`,
		`a/hub.md:3: unknown provider "github-copilot": the model of the task is used`,
		`a/README.md:1: no front matter: all of the file is the prompt`,
	}, p.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// Each way to write a restriction restricts, whatever another one of the file allows.
func TestRestrictionsOfAgentFiles(t *testing.T) {
	full, _ := permission.Preset("full")
	for _, tt := range []struct{ name, head, allowed, denied string }{
		{"a list of Claude's", "tools: Read, Grep", "read x;grep x", "bash ls;edit x;task general;webfetch https://x;srv_do x;glob x"},
		{"an empty list", "tools: []", "", "read x;bash ls"},
		{"a list of Claude's with patterns", "tools: [Bash(git log:*), 'Bash(npm run test)', Write, mcp__srv__do, Bogus(x), Read(src/**)]", "bash git log;bash git log -1;bash npm run test;edit x;srv_do x", "bash git push;bash npm run build;read src/x"},
		{"a comma in a pattern", "tools: Read, Bash(echo a,b:*)", "read x;bash echo a,b c", "bash ls"},
		{"everything", "tools: '*'", "bash ls;edit x", ""},
		{"a list and rules", "tools: Read\npermission: {bash: allow}", "read x", "bash ls"},
		{"allowed-tools", "allowed-tools: Bash(ls:*)", "bash ls -l", "read x;bash cat x"},
		{"disallowedTools", "disallowedTools: Write, Bash(rm:*)", "read x;bash ls", "edit x;bash rm -r x"},
		{"write", "permission: {write: ask, edit: allow}", "read x;bash ls", "edit x"},
		{"write that allows", "permission: {edit: {'*': deny}, write: {'*': allow}}", "read x", "edit x"},
		{"paths of write", "permission: {write: {'docs/*': deny, 'docs/a': allow}}", "edit x", "edit docs/b;edit docs/a"},
		{"another case", "permission: {'*': allow, Bash: deny}", "edit x", "bash ls"},
		{"another case that allows", "permission: {'*': deny, Bash: allow}", "", "bash ls"},
		{"names of version 2", "permission: {shell: {'*': deny, 'git *': allow}, subagent: deny}", "bash git log;edit x", "bash ls;task general"},
		{"switches of version 2", "tools: {shell: false, subagent: false}", "edit x", "bash ls;task general"},
		{"a list beside rules of version 2", "tools: Read\npermissions: [{action: '*', resource: '*', effect: allow}]", "read x", "bash ls"},
		{"switches", "tools: {'*': false, read: true, Bash: true}", "read x", "bash ls;edit x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := loadText(t, "agents_from: [a.md]\n"+oneTask, map[string]string{"a.md": "---\ndescription: x\n" + tt.head + "\n---\nx"}, tasks.Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(p.Agents, func(a tasks.Agent) bool { return a.Name == "a" })
			if at < 0 {
				t.Fatalf("the agent is left out: %q", p.Notes)
			}
			profile := full
			profile.Rules = append(profile.Rules, permission.Rule{Permission: "srv_*", Pattern: "*", Effect: permission.Allow})
			for _, rules := range p.Agents[at].Restrictions {
				profile = profile.Narrowed("agent a", rules)
			}
			for calls, want := range map[string]permission.Effect{tt.allowed: permission.Allow, tt.denied: permission.Deny} {
				for call := range strings.SplitSeq(calls, ";") {
					name, subject, ok := strings.Cut(call, " ")
					if d := profile.Decide(permission.Need(name, subject)); ok && d.Effect != want {
						t.Errorf("%s: %s by %s", call, d.Effect, d.By())
					}
				}
			}
		})
	}
}

// Of several files of an agent the last one counts, as in OpenCode, and none of their rules is lost.
func TestLaterFileOfAnAgent(t *testing.T) {
	p, err := loadText(t, "agents_from: [.opencode, .opencode/agent/sub]\n"+oneTask, map[string]string{
		".opencode/agent/rev.md":      "---\ndescription: a\nsteps: 3\ntools: {bash: false}\n---\nOne.",
		".opencode/agents/rev.md":     "---\ndescription: b\nsteps: 9\ntools: {edit: false}\n---\nTwo.",
		".opencode/agent/sub/deep.md": "---\ndescription: c\n---\nThree.",
	}, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(p.Agents, func(a tasks.Agent) bool { return a.Name == "rev" })
	if a := p.Agents[at]; a.Prompt != "Two." || a.Turns != 3 || len(a.Restrictions) != 2 {
		t.Errorf("%+v", a)
	}
	want := []string{`.opencode/agents/rev.md:1: agent "rev" replaces the one of .opencode/agent/rev.md, whose restrictions still apply`}
	if diff := cmp.Diff(want, p.Notes); diff != "" { // and none about the subdirectory
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
