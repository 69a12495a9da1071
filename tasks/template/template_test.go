package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
	"github.com/millhand/millhand/tasks/problem"
)

// parsed returns a value, written as YAML has it, that is in line 5 of its file, m.yaml, from column 13.
func parsed(t *testing.T, text string) (form.Value, *problem.Collector) {
	t.Helper()
	found := problem.NewCollector()
	src := &form.Source{File: problem.File{Name: "m.yaml", Found: found}}
	v, ok := src.Parse([]byte(strings.Repeat("\n", 4) + "    prompt: " + text + "\n"))
	if !ok {
		t.Fatal(found.Err())
	}
	entries, _ := v.Entries()
	return entries[0], found
}

// filledIn reads a text with variables, and fills it in.
func filledIn(t *testing.T, text string, s Scope) (filled string, values []Span, problems []string) {
	t.Helper()
	v, found := parsed(t, text)
	if tpl, ok := ReadTemplate(v); ok {
		filled, values, _ = tpl.FillIn(s)
	}
	if err := found.Err(); err != nil {
		problems = strings.Split(err.Error(), "\n")
	}
	return filled, values, problems
}

func TestTemplatesAreExpandedOnce(t *testing.T) {
	for _, tt := range []struct{ prompt, want string }{
		{`plain $ { } $$ ${x} {{ x }}`, `plain $ { } $$ ${x} {{ x }}`},
		{`${{vars.x}}`, `1`},
		{`a${{ vars.x }}b${{	vars.y-z	}}c`, `a1b2c`},
		{`${{ vars.hostile }}`, `${{ env.HOME }} $(rm -rf /) '"`},
		{`$${{ vars.x }}`, `${{ vars.x }}`},
		{`$$${{ vars.x }}`, `$${{ vars.x }}`},
		{`$${{ $${{ ${{ vars.x }} }}`, `${{ ${{ 1 }}`},
		{`}} ${{ vars.x }} }}`, `}} 1 }}`},
		{`${{ env.BUILD }} ${{ repo.name }} ${{ task.id }} ${{ matrix.k }}`, `17 shop a v`},
		{`${{ vars.empty }}.${{ repo.ref }}.`, `..`},
	} {
		t.Run(tt.prompt, func(t *testing.T) {
			got, _, problems := filledIn(t, "|-\n      "+tt.prompt, Scope{
				Vars:   map[string]string{"x": "1", "y-z": "2", "empty": "", "hostile": "${{ env.HOME }} $(rm -rf /) '\""},
				Matrix: map[string]string{"k": "v"}, Repo: tasks.Repo{Name: "shop"}, Task: "a",
				Getenv: func(name string) string { return map[string]string{"BUILD": "17"}[name] },
			})
			if problems != nil {
				t.Fatal(problems)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestVariablesHaveAPositionInEveryKindOfText(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prompt string
		want   []string
	}{
		{"plain", `é ${{ vars.a }} ${{ vars.b }}`, []string{"5:15", "5:29"}},
		{"plain on several lines", "x\n      y ${{ vars.a }}\n\n      ${{ vars.b }}", []string{"6:9", "8:7"}},
		{"single quotes", `'it''s ${{ vars.a }}'`, []string{"5:20"}},
		{"double quotes", `"\té ${{ vars.a }}"`, []string{"5:18"}},
		{"an escape in double quotes", `"\x24{{ vars.a }}"`, []string{"5:13"}},
		{"literal", "|  # ${{ no }}\n      x\n\n        ${{ vars.a }}\n      ${{ vars.b }}", []string{"8:9", "9:7"}},
		{"folded", ">-\n      x\n      ${{ vars.a }} $${{ vars.x }} ${{ vars.b }}", []string{"7:7", "7:36"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, problems := filledIn(t, tt.prompt, Scope{})
			var got []string
			for _, l := range problems {
				position, _, _ := strings.Cut(strings.TrimPrefix(l, "m.yaml:"), ": ")
				got = append(got, position)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("positions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownVariablesAreReportedWhereTheyAre(t *testing.T) {
	s := Scope{Vars: map[string]string{"name": "a", "node": "b"}, Getenv: func(string) string { return "" }}
	for text, want := range map[string]string{
		"${{ vars.nane }}":            `m.yaml:5:13: unknown variable "vars.nane"; did you mean "vars.name"?`,
		"a ${{ matrix.os }}":          `m.yaml:5:15: unknown variable "matrix.os"; the task has no matrix`,
		"${{ env.TOKEN }}":            `m.yaml:5:13: the environment variable TOKEN is not set; set it, or use vars: for a value of the manifest`,
		"${{ repo.nam }}":             `m.yaml:5:13: unknown variable "repo.nam"; did you mean "repo.name"?`,
		"${{ summary }}":              `m.yaml:5:13: unknown variable "summary"; write vars.NAME, matrix.KEY, repo.name, repo.ref, env.NAME, task.id, run.id, run.date or event.PATH, or $${{ for the text ${{ itself`,
		"${{ event.action }}":         `m.yaml:5:13: event.action: variables of the event are not available here; run it in a workflow whose event has it, or set GITHUB_EVENT_PATH to a file with such an event`,
		"${{ name }}":                 `m.yaml:5:13: invalid variable "name"; write ${{ vars.NAME }}, or $${{ for the text ${{ itself`,
		"x ${{ vars.name":             `m.yaml:5:15: ${{ without }} on the same line; write ${{ vars.NAME }}, or $${{ for the text ${{ itself`,
		"${{ vars.a ${{ vars.name }}": `m.yaml:5:13: ${{ without }} on the same line; write ${{ vars.NAME }}, or $${{ for the text ${{ itself`,
		`""`:                          `m.yaml:5:13: "prompt" is empty; give it a value, or remove it`,
		"5":                           `m.yaml:5:13: "prompt" must be a string, not the number 5; put it in quotes`,
	} {
		if _, _, got := filledIn(t, text, s); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestVariablesOfTheRunAndOfResults(t *testing.T) {
	run := &RunNames{ID: "20260102-030405-1a2b3c4d"}
	got, values, problems := filledIn(t, "${{ run.id }} ${{ run.date }} ${{ summary }}", Scope{Run: run, Results: true})
	if got != "20260102-030405-1a2b3c4d 2026-01-02 ${{ summary }}" || problems != nil || !run.Used {
		t.Errorf("%q, %q", got, problems)
	}
	if len(values) != 3 || values[1] != (Span{25, 35}) {
		t.Errorf("values at %v", values)
	}
	if got, _, problems = filledIn(t, "${{ run.id }}${{ run.date }}.", Scope{}); got != "." || problems != nil {
		t.Errorf("without a run: %q, %q", got, problems)
	}
}

func TestCommandsAndPromptsAreReadInTheirForms(t *testing.T) {
	for _, tt := range []struct {
		form form.Of[Template]
		text string
		want string // problem; "" for none
	}{
		{CommandForm, "true", ""},
		{CommandForm, `" "`, `m.yaml:5:13: "prompt" is empty; write a command, or remove it`},
		{CommandForm, "[a]", `m.yaml:5:13: "prompt" must be a string, number or boolean, not a list; write one value`},
		{TaskPromptForm, "Look !`git log` $${{", ""},
		{TaskPromptForm, "Look !`git log ${{ vars.x }}`", "m.yaml:5:18: variable in a !`...` command of a prompt: the shell would run its value; remove it, or write the command under setup: with quotes around the variable"},
		{AgentPromptForm, "Read ${{ env.X }}", ""},
		{AgentPromptForm, "Look !`git log`", "m.yaml:5:13: !`...` commands are only supported in prompts of tasks; write it there, or under setup: and let the agent read what it wrote"},
		{TemplateForm, "a", ""},
	} {
		v, found := parsed(t, tt.text)
		tpl, ok := tt.form.Read(v)
		got := ""
		if err := found.Err(); err != nil {
			got = err.Error()
		}
		if got != tt.want || ok != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
		if ok && tpl.Literal() != !strings.Contains(strings.ReplaceAll(tt.text, "$${{", ""), "${{") {
			t.Errorf("%s: literal %t", tt.text, tpl.Literal())
		}
	}
}
