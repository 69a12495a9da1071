package expand

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
)

func TestCommandsOfTasks(t *testing.T) {
	dir := dirWith(t, map[string]string{
		".opencode/command/fix.md":         "---\ndescription: Fixes.\nagent: plan\nmodel: openai/gpt-5.5\nsubtask: true\n---\nFix $1 in @$2. $${{ x }}\n",
		".opencode/commands/git/commit.md": "Say ${{ github.x }}: !`git log -3`\n",
		"more/loop.md":                     "!`echo $1`",
		"m.yaml": `version: 1
model: openai/gpt-4.1
profile: build
commands_from: [.opencode, more]
tasks:
  - {id: a, command: fix, arguments: "bugs src/${{ matrix.x }}.go", matrix: {x: [one]}}
  - {id: b, command: git/commit, agent: build, model: openai/gpt-4o}
  - {id: c, command: loop, arguments: safe}
`,
	})
	plan, err := Load(t.Context(), []string{"m.yaml"}, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, j := range plan.Jobs {
		var names []string
		for _, m := range j.Mentions {
			names = append(names, m.Name+m.Command)
		}
		got[j.Task] = strings.Join([]string{j.Prompt, j.Agent, j.ModelName, strings.Join(names, ",")}, "|")
	}
	want := map[string]string{
		"a": "Fix bugs in @src/one.go. $${{ x }}|plan|openai/gpt-5.5|src/one.go",
		"b": "Say ${{ github.x }}: !`git log -3`|build|openai/gpt-4o|git log -3",
		"c": "!`echo safe`|build|openai/gpt-4.1|echo safe",
	}
	for id, text := range want {
		if got[id] != text {
			t.Errorf("%s: %q, want %q", id, got[id], text)
		}
	}
	if !slices.ContainsFunc(plan.Notes, func(n string) bool { return strings.Contains(n, "fix.md:5") && strings.Contains(n, "no effect") }) {
		t.Errorf("notes %q", plan.Notes)
	}
}

func TestMistakesInCommands(t *testing.T) {
	dir := dirWith(t, map[string]string{
		"c/loop.md": "!`echo $1`", "c/empty.md": "---\ndescription: d\n---\n", "d/x.txt": "", "e/head.md": "---\npermission: {bash: allow}\n---\nText",
		"m.yaml": `version: 1
model: openai/gpt-4.1
commands_from: [c/loop.md, c/empty.md, d, gone, e]
tasks:
  - {id: a, prompt: p}
`,
		"n.yaml": `version: 1
model: openai/gpt-4.1
commands_from: [c, e]
vars: {x: y}
tasks:
  - {id: a, command: loop, arguments: "${{ vars.x }}"}
  - {id: b, command: lop}
  - {id: c, command: loop, prompt: Hi.}
  - {id: d, prompt: Hi., arguments: x}
  - {id: e}
  - {id: f, command: empty}
  - {id: g, command: head}
`,
		"o.yaml": "version: 1\nmodel: openai/gpt-4.1\ntasks: [{id: a, command: x}]\n",
	})
	for file, want := range map[string][]string{
		"m.yaml": {
			`m.yaml:3:40: no commands found in "d"; name a directory of .md files, a file, or an .opencode directory with command/*.md`,
			`m.yaml:3:43: "gone": not found; check its path; it is relative to the manifest`,
		},
		"n.yaml": {
			`c/empty.md:1:1: the command has no prompt; write it after the keys`,
			`e/head.md:2:1: unknown key "permission", which may be a restriction; known here: agent, description, model, subagent, subtask`,
			"n.yaml:6:22: the command \"loop\" (c/loop.md) runs a !`...` command with a variable of the arguments: the shell would run its value; write the value itself, or run the command under setup: with quotes around the variable",
			`n.yaml:7:22: unknown command "lop"; known here: empty, head, loop`,
			`n.yaml:8:13: prompt and command are both set; remove one of them`,
			`n.yaml:9:26: arguments without a command; write command: NAME, or put them into the prompt`,
			`n.yaml:10:5: missing key "prompt" in entry 5 of "tasks"; add prompt: TEXT`,
		},
		"o.yaml": {`o.yaml:3:26: unknown command "x"; add it to commands, or commands_from: [.opencode]`},
	} {
		_, err := Load(t.Context(), []string{file}, options(dir))
		if diff := cmp.Diff(want, lines(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// Commands of the manifest are like those of files, and come first.
func TestCommandsOfManifests(t *testing.T) {
	files := map[string]string{"c/look.md": "From the file.", "c/other.md": "Other."}
	const manifest = "commands: {look: {template: \"Look at $1, ${{ it }}.\", agent: plan, description: d}}\ncommands_from: [c]\n"
	p, err := loadText(t, manifest+"version: 1\nmodel: openai/gpt-5-mini\ntasks: [{id: a, command: look, arguments: x}, {id: b, command: other}]\n", files, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Jobs[0]; a.Prompt != "Look at x, ${{ it }}." || a.Agent != "plan" || p.Jobs[1].Prompt != "Other." {
		t.Errorf("%q, %q, %q", a.Prompt, a.Agent, p.Jobs[1].Prompt)
	}
	for text, want := range map[string]string{
		"commands: {look: {description: d}}":                 "template",
		"commands: {look: {template: x, permission: allow}}": `unknown key "permission"`,
		"commands: [look]":                                   "commands",
	} {
		if _, err := loadText(t, text+"\n"+oneTask, files, tasks.Overrides{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// What OpenCode reads without complaint is a note, and only of a command that a task uses.
func TestCommandFilesOfOtherPrograms(t *testing.T) {
	keys := "---\ndescription: 5\nargument-hint: [x]\nallowed-tools: Bash(git:*)\nname: x\nmodel: [sonnet, opencode/big]\n---\nFix it."
	p, err := loadText(t, head+"commands_from: [c]\ntasks: [{id: a, command: used}]\n", map[string]string{
		"c/used.md": keys, "c/unused.md": keys, "c/broken.md": "---\n\tx\n---\n", "c/empty.md": "", "c/README.md": "Hi.", "c/rules.md": "---\npermissions: []\n---\nHi.",
	}, tasks.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if j := p.Jobs[0]; j.Prompt != "Fix it." || j.ModelName != "openai/m" {
		t.Errorf("%+v", j)
	}
	if diff := cmp.Diff([]string{
		`c/used.md:2: "description" must be a string, not the number 5; the key is ignored`,
		`c/used.md:3: unknown key "argument-hint" is ignored`,
		`c/used.md:4: unknown key "allowed-tools" is ignored`,
		`c/used.md:5: unknown key "name" is ignored`,
		`c/used.md:6: missing provider in model "sonnet": the model of the task is used`,
		`c/used.md:6: unknown provider "opencode": the model of the task is used`,
	}, p.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
