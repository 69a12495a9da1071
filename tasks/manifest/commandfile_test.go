package manifest

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
)

func TestCommandsArePromptsOfTasks(t *testing.T) {
	files := map[string]string{
		"commands/fix.md": "---\nagent: plan\nmodel: openai/x\nallowed-tools: Bash\n---\nFix $1 in $2.\n", "commands/git/commit.md": "Commit $ARGUMENTS.\n", "commands/strict.md": "---\npermissions: deny\n---\nx\n",
		"commands/empty.md": "---\nagent: plan\n---\n", "commands/shell.md": "Run !`echo $1`.\n", ".opencode/command/a.md": "A.\n", ".opencode/commands/b.md": "B.\n", ".opencode/c.md": "C.\n", "none/x.txt": "",
	}
	for task, want := range map[string]struct{ prompt, agent, model, problem string }{
		"command: fix, arguments: 'a bug'":                          {"Fix a in bug.", "plan", "openai/x", ""},
		"command: fix, arguments: '\"a bug\" the parser'":           {"Fix a bug in the parser.", "plan", "openai/x", ""},
		"command: fix, arguments: a, agent: build, model: openai/y": {"Fix a in .", "build", "openai/y", ""},
		"command: git/commit, arguments: all":                       {"Commit all.", "build", "", ""},
		"command: own, arguments: 'x ${{ vars.a }}'":                {"Own x ${{ vars.a }}", "build", "", ""},
		"command: a":      {"A.", "build", "", ""},
		"command: b":      {"B.", "build", "", ""},
		"command: strict": {problem: `which may be a restriction`},
		"command: empty":  {problem: "the command has no prompt; write it after the keys"},
		"command: shell, arguments: '${{ vars.a }}'": {problem: "with a variable of the arguments: the shell would run its value; write the value itself, or run the command under setup: with quotes around the variable"},
		"command: nope":           {problem: `unknown command "nope"; known here: a, b, empty, fix, git/commit, own, shell, strict`},
		"command: fix, prompt: p": {problem: "prompt and command are both set; remove one of them"},
		"prompt: p, arguments: x": {problem: "arguments without a command; write command: NAME, or put them into the prompt"},
	} {
		text := head + "vars: {a: v}\ncommands: {own: {template: 'Own $ARGUMENTS'}}\ncommands_from: [commands, .opencode]\ntasks: [{id: a, " + task + "}]\n"
		m, problems, _ := beside(t, text, files)
		got := m.Tasks[0]
		switch {
		case want.problem != "":
			if len(problems) != 1 || !strings.Contains(problems[0], want.problem) {
				t.Errorf("%s: %q, want %s", task, problems, want.problem)
			}
		case problems != nil || got.Prompt.S != want.prompt || got.Agent.S != want.agent || len(got.Models.Names) > 0 != (want.model != "") || want.model != "" && got.Models.Names[0].S != want.model:
			t.Errorf("%s: %q: prompt %q, agent %q, models %v", task, problems, got.Prompt.S, got.Agent.S, got.Models.Names)
		}
	}
	_, problems, _ := beside(t, oneTask+"commands_from: [none, nope, commands/fix.md]\n", files)
	if len(problems) != 2 || !strings.Contains(problems[0], `no commands found in "none"`) || !strings.Contains(problems[1], `"nope": not found`) {
		t.Errorf("%q", problems)
	}
}

// A script must be readable, and its changes are not reviewed.
func TestScriptsOfTasks(t *testing.T) {
	files := map[string]string{"work.sh": "#!/bin/sh\ntrue\n", "binary": "\x7fELF\x00", "large.sh": "#!/bin/sh\n" + strings.Repeat("x", tasks.MaxScript), "plain.txt": "hello"}
	for keys, want := range map[string]string{
		"script: work.sh":             "",
		"script: nope.sh":             `script "nope.sh": not found; check its path; it is relative to the manifest`,
		"script: large.sh":            `script "large.sh" exceeds 256 KiB; write a shorter script`,
		"script: binary":              `; write a bash script, or name its interpreter in a first line such as #!/usr/bin/env python3`,
		"script: ''":                  `"script" is empty`,
		"script: work.sh, review: {}": "script and review are both set; remove one of them: what a script changes is not reviewed",
		"script: work.sh, output: {schema: {type: object}}": "script and output.schema are both set; remove one of them: a script has no final message",
	} {
		m, problems, _ := beside(t, head+"tasks: [{id: a, prompt: p, "+keys+"}]\n", files)
		if got := strings.Join(problems, "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
		if s := m.Tasks[0].ScriptOf(); want == "" && (s == nil || s.MustChange) {
			t.Errorf("%s: %+v", keys, s)
		}
	}
	for keys, want := range map[string]bool{"": false, ", require_changes: true": true, `, if: "true"`: true} {
		m, problems, _ := beside(t, head+"tasks: [{id: a, prompt: p, script: work.sh"+keys+"}]\n", files)
		if problems != nil || m.Tasks[0].ScriptOf().MustChange != want {
			t.Errorf("%q: %q, %+v", keys, problems, m.Tasks[0].ScriptOf())
		}
	}
	if m, _ := read(t, oneTask); m.Tasks[0].ScriptOf() != nil || m.Tasks[0].LosesRights() != nil {
		t.Error("a task without a script has one")
	}
}
