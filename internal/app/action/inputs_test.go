package action_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/app/action"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/expand"
)

// inputs is the environment of these inputs.
func inputs(pairs ...string) func(string) string {
	env := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		env["INPUT_"+pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return env[name] }
}

func TestArguments(t *testing.T) {
	tests := []struct {
		name  string
		pairs []string
		want  []string
	}{
		{"the least", []string{"MANIFEST", "m.yaml"}, []string{"--report-dir=.millhand/report"}},
		{
			"everything",
			[]string{
				"MANIFEST", "m.yaml", "MODEL", "openai/gpt-5", "PROFILE", "edit", "MAX_PROFILE", "build", "MAX_COST", "1.5", "MAX_TIME", "90m",
				"MAX_TURNS", "7", "JOBS", "3", "SHARD", "1/2", "PUBLISH", "push", "SANDBOX", "off", "FAIL_ON", "never", "REPORT_DIR", "out",
				"ARGS", `["--var", "a=b c", "--keep"]`,
			},
			[]string{
				"--report-dir=out", "--model=openai/gpt-5", "--profile=edit", "--max-profile=build", "--max-cost=1.5", "--max-time=90m",
				"--max-turns=7", "--jobs=3", "--shard=1/2", "--publish=push", "--sandbox=off", "--fail-on=never", "--var", "a=b c", "--keep",
			},
		},
		{
			"values that look like flags and commands stay values",
			[]string{"MANIFEST", "m.yaml", "MODEL", "--keep", "PROFILE", "$(touch x) `y` \"'\nz"},
			[]string{"--report-dir=.millhand/report", "--model=--keep", "--profile=$(touch x) `y` \"'\nz"},
		},
		{"blanks are nothing", []string{"MANIFEST", " m.yaml\n", "MODEL", " \n"}, []string{"--report-dir=.millhand/report"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in, err := action.Read(inputs(test.pairs...))
			if err != nil {
				t.Fatal(err)
			}
			want := append(append([]string{"run", "--log-format=github"}, test.want...), "--", "-m.yaml")
			if diff := cmp.Diff(want, in.Arguments([]string{"-m.yaml"})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInvalidInputs(t *testing.T) {
	tests := []struct {
		name  string
		pairs []string
		want  []string
	}{
		{"missing input", nil, []string{"manifest, prompt and prompt-file"}},
		{"two sources", []string{"MANIFEST", "m", "PROMPT", "p"}, []string{"conflicting inputs manifest and prompt"}},
		{"args are words", []string{"MANIFEST", "m", "ARGS", "--keep --quiet"}, []string{"input args", "JSON array of strings"}},
		{"args are an object", []string{"MANIFEST", "m", "ARGS", `{"keep": true}`}, []string{"input args", "JSON array of strings"}},
		{"args hold a number", []string{"MANIFEST", "m", "ARGS", `["--jobs", 3]`}, []string{"input args", "JSON array of strings"}},
		{"args hold null", []string{"MANIFEST", "m", "ARGS", `["--keep", null]`}, []string{"item 2 is null"}},
		{"args go on", []string{"MANIFEST", "m", "ARGS", `["--keep"] ["--quiet"]`}, []string{"input args"}},
		{"args begin with a manifest", []string{"MANIFEST", "m", "ARGS", `["other.yaml"]`}, []string{"is not a flag"}},
		{"args end the flags", []string{"MANIFEST", "m", "ARGS", `["--keep", "--", "x"]`}, []string{`"--" is not allowed`}},
		{"args move the reports", []string{"MANIFEST", "m", "ARGS", `["--report-dir=x"]`}, []string{"input report-dir"}},
		{"a summary that is neither", []string{"MANIFEST", "m", "SUMMARY", "maybe"}, []string{"input summary"}},
		{"all of it at once", []string{"ARGS", "x", "SUMMARY", "x"}, []string{"missing input", "input args", "input summary"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := action.Read(inputs(test.pairs...))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
		})
	}
}

func TestManifests(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{"a.yaml", "b.yaml", "deep/er/c.yaml", "with blank.yaml", "odd[1].yaml", "-"} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		input string
		want  []string
		fails string
	}{
		{input: "a.yaml", want: []string{"a.yaml"}},
		{input: "b.yaml a.yaml\n\n  a.yaml\n", want: []string{"b.yaml", "a.yaml"}},
		{input: "?.yaml", want: []string{"a.yaml", "b.yaml"}},
		{input: "**/c.yaml", want: []string{"deep/er/c.yaml"}},
		{input: "with blank.yaml", want: []string{"with blank.yaml"}},
		{input: "with blank.yaml\na.yaml", want: []string{"with blank.yaml", "a.yaml"}},
		{input: "odd[1].yaml", want: []string{"odd[1].yaml"}},
		{input: "missing.yaml", want: []string{"missing.yaml"}}, // millhand run reports it
		{input: "-", want: []string{"./-"}},
		{input: "$(touch x).yaml", want: []string{"$(touch", "x).yaml"}},
		{input: "missing/*.yaml", fails: `no file matches "missing/*.yaml"`},
		{input: "{a.yaml", fails: "invalid pattern"},
	}
	for _, test := range tests {
		t.Run(test.input, func(t *testing.T) {
			got, err := action.Inputs{Manifest: test.input}.Manifests(t.Context(), t.TempDir())
			switch {
			case test.fails != "":
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("%v, want %s", err, test.fails)
				}
			case err != nil:
				t.Error(err)
			default:
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// loaded is the prompt that a model would be sent.
func loaded(t *testing.T, in action.Inputs) string {
	t.Helper()
	files, err := in.Manifests(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := expand.Load(t.Context(), files, tasks.Options{
		Dir: t.TempDir(), Getenv: func(string) string { return "" }, Overrides: tasks.Overrides{Model: "openai/gpt-5-mini"},
	})
	if err != nil {
		t.Fatalf("%q: %v", in.Prompt, err)
	}
	if len(plan.Jobs) != 1 || plan.Jobs[0].ID != "prompt" {
		t.Fatalf("%q: %+v", in.Prompt, plan.Jobs)
	}
	return plan.Jobs[0].Prompt
}

// hostilePrompts are texts that a manifest would take for something else.
func hostilePrompts() []string {
	return []string{
		"${{ vars.x }} $${{ ${{", "!`touch x`", "\"]}], tasks: []", "a: b\n- c\n---\n...\n# d", "'\"\\\n\t\r\u2028\u0085\u007f\ufeff\ufffe",
		"$(touch x) `y` @file", "\U0001F600\U0010FFFF", "*alias &anchor !!tag %YAML", strings.Repeat("long ", 2000), "<&>",
	}
}

func TestPromptIsUnchanged(t *testing.T) {
	for _, prompt := range hostilePrompts() {
		if got := loaded(t, action.Inputs{Prompt: prompt}); got != prompt {
			t.Errorf("%q became %q", prompt, got)
		}
		file := filepath.Join(t.TempDir(), "prompt.md")
		if err := os.WriteFile(file, []byte(prompt), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := loaded(t, action.Inputs{PromptFile: file}); got != prompt {
			t.Errorf("%q in a file became %q", prompt, got)
		}
	}
}

func TestInvalidPromptFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"empty": " \n", "binary": "\xff\xfe", "larger than 1 MiB": strings.Repeat("x", 1<<20+1)} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (action.Inputs{PromptFile: file}).Manifests(t.Context(), dir); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := (action.Inputs{PromptFile: filepath.Join(dir, "none")}).Manifests(t.Context(), dir); err == nil {
		t.Error("a file that is not there: no error")
	}
}

func FuzzPrompt(f *testing.F) {
	for _, prompt := range hostilePrompts() {
		f.Add(prompt)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		if strings.TrimSpace(prompt) == "" || len(prompt) > 1<<16 {
			t.Skip("no prompt, or too long to load often")
		}
		want := strings.ToValidUTF8(prompt, "\uFFFD")
		if got := loaded(t, action.Inputs{Prompt: want}); got != want {
			t.Errorf("%q became %q", want, got)
		}
	})
}

func TestAKeyHasTheVariableOfItsProvider(t *testing.T) {
	for model, want := range map[string]string{
		"": "OPENAI_API_KEY", "openai/gpt-5": "OPENAI_API_KEY", "anthropic/claude": "ANTHROPIC_API_KEY", "google/gemini": "GEMINI_API_KEY",
		"azure/x": "AZURE_OPENAI_API_KEY", "openrouter/a/b": "OPENROUTER_API_KEY", "script:dir/model.yaml": "OPENAI_API_KEY", "my-house/x": "MY_HOUSE_API_KEY",
	} {
		if got := action.KeyVariable(model); got != want {
			t.Errorf("%q: %s, want %s", model, got, want)
		}
	}
	if got := action.BaseURLVariable("anthropic/claude"); got != "ANTHROPIC_BASE_URL" {
		t.Error(got)
	}
}

func TestKeyIsOneLine(t *testing.T) {
	if key, err := action.Key(" sk-%25$(x)\"' \n"); err != nil || key != "sk-%25$(x)\"'" {
		t.Errorf("%q, %v", key, err)
	}
	for _, text := range []string{"hidden\nkey", "hidden\x00key", "hidden\rkey"} {
		if _, err := action.Key(text); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
