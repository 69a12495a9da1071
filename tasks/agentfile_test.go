package tasks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	for _, rule := range r.Restrictions {
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
		`a/keys.md:9:1: unknown key "prompt"; known here: color, description, disable, disabled, hidden, maxSteps, mode, model, name, options, permission, permissions, reasoningEffort, reasoningSummary, request, steps, temperature, textVerbosity, thinking, tools, top_p, variant`,
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
