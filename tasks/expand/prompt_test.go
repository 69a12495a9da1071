package expand

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/problem"
)

func TestAPromptIsLoadedAsAManifest(t *testing.T) {
	dir := dirWith(t, nil)
	o := options(dir)
	o.Overrides.Model = "openai/m"
	schema := map[string]any{"type": "object", "properties": map[string]any{"é\U0001f600": map[string]any{"type": "string", "description": "\x7f\ufeff${{ x }}"}}}
	p := Prompt{Text: "${{ vars.x }} @file !`cmd`\n\ufeff\u0085", Setup: []string{"echo ${{ s }}", "true"}, Verify: []string{"echo ${{ x }} $${{", "true"}, Schema: schema, Output: "out/${{ y }}.md", NoCommit: true}
	plan, err := LoadPrompt(t.Context(), p.Manifest(), o)
	if err != nil {
		t.Fatal(err)
	}
	j := plan.Jobs[0]
	if len(plan.Jobs) != 1 || j.ID != "prompt" || j.Prompt != p.Text || len(j.Mentions) > 0 || j.Commit != nil || !plan.AllowDirty || plan.Manifests[0] != "-p" {
		t.Errorf("%+v", j)
	}
	if !slices.Equal(j.Setup, p.Setup) {
		t.Errorf("setup %q", j.Setup)
	}
	if j.Verify[0].Run != p.Verify[0] || j.Verify[0].Name != p.Verify[0] || j.Verify[1].Run != "true" || j.Attempts != promptAttempts || j.Output.Path != p.Output || j.Output.Dir != dir {
		t.Errorf("%+v, %+v, %+v", j.Verify, j.Attempts, j.Output)
	}
	if tasks.Digest(j.Schema) != tasks.Digest(schema) {
		t.Errorf("schema %v", j.Schema)
	}
	plan, err = LoadPrompt(t.Context(), Prompt{Text: "x", Branch: "millhand/x"}.Manifest(), o)
	if err != nil || plan.Jobs[0].Commit.Branch != "millhand/x" || plan.AllowDirty {
		t.Errorf("%+v, %v", plan, err)
	}
}

func TestProblemsOfAPromptNameFlags(t *testing.T) {
	for _, tt := range []struct {
		prompt Prompt
		want   string
	}{
		{Prompt{Text: "x", Verify: []string{"true", "  "}}, `--verify: entry 2 of "verify" is empty; write a command, or remove it`},
		{Prompt{Text: "x", Setup: []string{"true", " "}, Verify: []string{"true"}}, `--setup: entry 2 of "setup" is empty; write a command, or remove it`},
		{Prompt{Text: "x", Verify: []string{"true", "true"}}, `--verify: duplicate verify name "true"; rename one of them`},
		{Prompt{Text: "x", Schema: map[string]any{"type": "array"}, Verify: []string{"true"}}, `--output-schema: the schema must be that of an object; write type: object`},
		{Prompt{Text: "x", Schema: map[string]any{"properties": map[string]any{"file": 1}}}, `--output-schema: `},
		{Prompt{Text: "x", Output: "../x", Schema: map[string]any{}}, `--output-file: invalid output file "../x"; write the path of a file below the current directory, for example report.md`},
		{Prompt{Text: "x", Branch: "a b"}, `-p: invalid branch name "a b"`},
		{Prompt{Text: strings.Repeat("x", 2<<20)}, `-p: the file exceeds 1 MiB`},
	} {
		o := options(dirWith(t, nil))
		o.Overrides.Model = "openai/m"
		_, err := LoadPrompt(t.Context(), tt.prompt.Manifest(), o)
		var problems problem.List
		if !errors.As(err, &problems) || len(problems) != 1 || !strings.HasPrefix(problems[0].String(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}
