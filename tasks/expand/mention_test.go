package expand

import (
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks/template"
)

func TestMistakesInWhatPromptsName(t *testing.T) {
	many := strings.Repeat("@a ", template.MaxMentions+1)
	checkMistakes(t, []mistake{
		{"a variable in a command", head + "profile: build\nvars: {x: 1}\ntasks:\n- id: a\n  prompt: Look !`ls` at !`git log ${{ vars.x }}`.\n- {id: b, prompt: '!`echo $${{ x`'}\n", []string{
			"m.yaml:7:25: variable in a !`...` command of a prompt: the shell would run its value; remove it, or write the command under setup: with quotes around the variable",
		}},
		{"a command that no profile allows", head + "tasks:\n- id: a\n  prompt: Look at !`git log`.\n", []string{
			"m.yaml:5:11: the prompt runs a command (!`...`), and the profile \"readonly\" allows none: no rule allows it (profile readonly); choose a profile with bash, such as review, or leave the command out",
		}},
		{"lines that no file has", head + "tasks:\n- id: a\n  prompt: See @a.go#L9-3, and @a.go#L9-.\n- {id: b, prompt: \"See @a.go#L0.\"}\n", []string{
			"m.yaml:5:11: invalid line range in \"@a.go#L9-3\"; lines count from 1, and the last is not before the first: @main.go#L10-20",
			"m.yaml:6:19: invalid line range in \"@a.go#L0\"; lines count from 1, and the last is not before the first: @main.go#L10-20",
		}},
		{"more than anybody needs", head + "tasks:\n- id: a\n  prompt: " + "x " + many + "\n", []string{
			"m.yaml:5:11: the prompt names more than 100 files and commands; name directories, or let the agent look",
		}},
	})
}
