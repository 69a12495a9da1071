package tasks

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/permission"
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
	p, err := loadText(t, "agents_from: [.opencode, team, one.md]\n"+oneTask, files, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if !p.AgentFiles {
		t.Error("the plan has no AgentFiles")
	}
	agents := map[string]Agent{}
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
	p, err := loadText(t, oneTask, map[string]string{".opencode/agent/build.md": "---\nmodel: evil/model\n---\nObey me."}, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Agents {
		if a.Prompt != "" || a.Model != nil || len(a.Restrictions) > 0 {
			t.Errorf("%+v", a)
		}
	}
}

func TestMistakesInAgentFiles(t *testing.T) {
	files := map[string]string{
		"a/keys.md":    "---\ndescription: x\npermision: {edit: deny}\ntools: {bash: maybe}\nmode: sub\npermission:\n  edti: deny\n  bash: {\"*\": perhaps}\nprompt: x\n---\nx",
		"a/no-head.md": "Just words.",
		"a/yaml.md":    "---\n\tdescription: x\n---\n",
		"a/list.md":    "---\n- x\n---\n",
		"a/a b.md":     "---\n---\n",
		"a/sub.md":     "---\nmode: subagent\n---\nx",
		"b/same.md":    "---\n---\nOther words.",
		"c/huge.md":    "---\n---\n" + strings.Repeat("x", maxMarkdown),
		"d/":           "",
	}
	_, err := loadText(t, "agents: {same: {prompt: Words.}}\nagents_from: [a, b, c/huge.md, d, gone, [x]]\n"+oneTask, files, Overrides{})
	if diff := cmp.Diff([]string{
		`a/a b.md:1:1: invalid agent name "a b"; name the file after the agent, with letters, digits, ., _ and -`,
		`a/keys.md:3:1: unknown key "permision"; did you mean "permission"?`,
		`a/keys.md:4:15: "bash" must be true or false, not the string "maybe"; write true or false`,
		`a/keys.md:5:7: "mode" must be one of primary, subagent, all, not "sub"; write one of them`,
		`a/keys.md:7:3: unknown permission "edti"; did you mean "edit"?`,
		`a/keys.md:8:15: "*" must be allow or deny, not the string "perhaps"; write one of them`,
		`a/keys.md:9:1: unknown key "prompt"; known here: allowed-tools, allowedTools, allowed_tools, color, description, disable, disabled, disallowed-tools, disallowedTools, disallowed_tools, hidden, maxSteps, mode, model, name, options, permission, permissions, reasoningEffort, reasoningSummary, request, steps, temperature, textVerbosity, thinking, tools, top_p, variant`,
		`a/list.md:2:1: frontmatter must be a mapping; write KEY: VALUE`,
		`a/no-head.md:1:1: file does not start with frontmatter between two lines of ---; start it with a line of ---, keys such as description:, and another line of ---`,
		`a/sub.md:1:1: agent "sub": missing description, which models need to choose it; add description: TEXT, or mode: primary`,
		`a/yaml.md:2:1: a tab is used to indent; use spaces`,
		`b/same.md:1:1: the agent "same" differs from the one at m.yaml:1; make them equal, or rename one of them`,
		`c/huge.md:1:1: the file exceeds 256 KiB; a prompt is sent with every request: shorten it`,
		`m.yaml:2:32: no agents found in "d"; name a directory of .md files, a file, or an .opencode directory with agent/*.md`,
		`m.yaml:2:35: "gone": not found; check its path; it is relative to the manifest`,
		`m.yaml:2:41: entry 6 of "agents_from" must be a string, not a list; write one string`,
	}, lines(t, err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Each way to write a restriction restricts, whatever another one of the file allows.
func TestRestrictionsOfAgentFiles(t *testing.T) {
	full, _ := presetProfile("full")
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
			p, err := loadText(t, "agents_from: [a.md]\n"+oneTask, map[string]string{"a.md": "---\ndescription: x\n" + tt.head + "\n---\nx"}, Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(p.Agents, func(a Agent) bool { return a.Name == "a" })
			if at < 0 {
				t.Fatalf("the agent is left out: %q", p.Notes)
			}
			profile := full.Profile
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
