package tools_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/command"
	"github.com/millhand/millhand/tools/skill"
	"github.com/millhand/millhand/tools/untrusted"
	"github.com/millhand/millhand/tools/websearch"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/extension/lsp"
	"github.com/millhand/millhand/internal/permission"
)

var update = flag.Bool("update", false, "write the golden files anew")

func offered(t *testing.T, env *tools.Env) []string {
	t.Helper()
	r, err := tools.For(env)
	if err != nil {
		t.Fatal(err)
	}
	return r.Offered(env.Profile)
}

// What models are shown is a text that they were tried with: it changes on
// purpose only.
func TestOfferedToolsHaveTheGoldenDescriptions(t *testing.T) {
	env := tooltest.Equipped("")
	r, err := tools.For(env)
	if err != nil {
		t.Fatal(err)
	}
	type shown struct {
		Name, Description string
		Schema            map[string]any
	}
	var offer []shown
	for _, s := range r.Offer(env.Profile) {
		offer = append(offer, shown{s.Name, s.Description, s.Schema})
		if strings.TrimSpace(s.Description) == "" {
			t.Errorf("%s has no description", s.Name)
		}
	}
	if small, err := json.Marshal(offer); err != nil || len(small) > 13_000 {
		t.Errorf("the tools cost every request %d bytes, %v", len(small), err)
	}
	got, err := json.MarshalIndent(offer, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/offer.json", string(got)+"\n")
}

// TestOfferedToolsDependOnProfileModelAndEnv writes the names of the tools that sessions have into a golden file: a tool is hidden
// from profiles that deny it for all arguments, and from models that work better with another.
func TestOfferedToolsDependOnProfileModelAndEnv(t *testing.T) {
	var got strings.Builder
	line := func(name string, tools []string) { fmt.Fprintf(&got, "%s: %s\n", name, strings.Join(tools, " ")) }
	profiles := []struct {
		preset, name string
		change       func(*tooltest.Stage)
	}{
		{"readonly", "", nil},
		{"review", "", nil},
		{"edit", "", nil},
		{"build", "", nil},
		{"full", "", nil},
		{"build", " without bash", func(s *tooltest.Stage) { s.Deny("bash", "*") }},
		{"build", " without anything", func(s *tooltest.Stage) { s.Deny("*", "*") }},
		{"build", " without anything but edits of docs", func(s *tooltest.Stage) { s.Deny("*", "*"); s.Allow("edit", "docs/*") }},
	}
	for _, tt := range profiles {
		s := tooltest.SetUp(t, tt.preset, nil)
		if tt.change != nil {
			tt.change(s)
		}
		line(tt.preset+tt.name, s.Tools.Offered(s.Env.Profile))
	}
	models := []struct {
		name, model string
		change      func(*tools.Env)
	}{
		{"no model", "", nil},
		{"a model for patches", "openai/gpt-5-mini", nil},
		{"in capitals", "openai/GPT-5", nil},
		{"at a gateway", "openrouter/openai/gpt-5.2-codex", nil},
		{"gpt-4.1", "openai/gpt-4.1", nil},
		{"gpt-4o", "openai/gpt-4o", nil},
		{"gpt-oss", "openrouter/openai/gpt-oss-120b", nil},
		{"o3", "openai/o3", nil},
		{"others", "anthropic/claude-sonnet-4-5", nil},
		{"a script", "script:model.yaml", nil},
		{"no search service", "x", func(e *tools.Env) { e.Search = websearch.Config{} }},
		{"no batch", "x", func(e *tools.Env) { e.Batch = false }},
		{"nothing that starts agents", "x", func(e *tools.Env) { e.Spawn = nil }},
		{"no skills", "x", func(e *tools.Env) { e.Skills = skill.Set{} }},
		{"no skill that is allowed", "x", func(e *tools.Env) {
			e.Profile.Rules = append(e.Profile.Rules, permission.Rule{Permission: "skill", Pattern: "dep*"})
		}},
	}
	for _, tt := range models {
		env := tooltest.Equipped(tt.model)
		if tt.change != nil {
			tt.change(env)
		}
		line(tt.name, offered(t, env))
	}
	r, err := tools.For(tooltest.Equipped(""))
	if err != nil {
		t.Fatal(err)
	}
	names := append(r.Offered(tooltest.Equipped("").Profile), "GREP", "unknown")
	line("read-only", slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !r.ReadOnly(name) }))
	line("parallel", slices.DeleteFunc(names, func(name string) bool { return !r.Parallel(name) }))
	compareGolden(t, "testdata/offered.txt", got.String())
}

// compareGolden compares a text with a golden file, or writes it.
func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run the test with -update if this is meant:\n%s", diff)
	}
}

func TestToolNamesAreUnique(t *testing.T) {
	for _, name := range []string{"bash", "BASH", "task", "websearch", "git", "external_directory", "question", "invalid"} {
		tool, err := tools.NewCustom(command.Custom{Name: name, Description: "x", Command: []string{"true"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tools.For(&tools.Env{}, tool); err == nil {
			t.Errorf("a second %s is taken", name)
		}
	}
	tool, err := tools.NewCustom(command.Custom{Name: "deploy", Description: "x", Command: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.For(&tools.Env{}, tool, tool); err == nil {
		t.Error("two tools of one name are taken")
	}
}

// permission.Tools lists every tool, so that no manifest can define another with its name, that some preset
// offers it, and that the documentation describes it.
func TestEveryToolIsListed(t *testing.T) {
	page, err := os.ReadFile("../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	widest, _ := permission.Preset("full")
	found := map[string]bool{}
	for _, model := range []string{"", "openai/gpt-5"} {
		env := tooltest.Equipped(model)
		env.Languages = &lsp.Servers{}
		r, err := tools.For(env)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range r.All() {
			name := tool.Spec().Name
			found[name] = true
			if !slices.Contains(permission.Tools(), name) || !permission.Reserved(strings.ToUpper(name)) {
				t.Errorf("%s is not among the tools' names", name)
			}
		}
	}
	for _, name := range permission.Tools() {
		if !found[name] {
			t.Errorf("%s is listed, and no tool", name)
		}
		if widest.Hides(permission.ForTool(name)) {
			t.Errorf("no preset offers %s", name)
		}
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/tools.md has no row for %s", name)
		}
	}
}

// every returns a stage that has all tools, and the tools.
func every(t *testing.T, files map[string]string) (*tooltest.Stage, []tools.Tool) {
	t.Helper()
	s := tooltest.SetUp(t, "full", files)
	s.Equip(func(env *tools.Env) {
		full := tooltest.Equipped("")
		env.Offer, env.Spawn, env.Languages = full.Offer, full.Spawn, &lsp.Servers{}
	})
	return s, s.Tools.All()
}

// A model that calls a tool that its session lacks gets the reason.
func TestEveryToolThatASessionLacksHasAReason(t *testing.T) {
	s := tooltest.SetUp(t, "full", nil)
	s.Equip(func(env *tools.Env) { env.Model = "x" })
	for _, name := range permission.Tools() {
		if out := s.Call(name, tooltest.Args{}); !s.Tools.Has(name) && strings.Contains(out.Error, "not found") {
			t.Errorf("%s: %s", name, out.Error)
		}
	}
}

// The rules that deny the network to a job that has read untrusted content are those of [permission.NetworkTools].
func TestToolsWhoseResultsAreForeignReachTheNetwork(t *testing.T) {
	_, all := every(t, nil)
	for _, tool := range all {
		if spec := tool.Spec(); (spec.Foreign != "") != slices.Contains(permission.NetworkTools(), spec.Name) {
			t.Errorf("%s: results are from elsewhere (%q), and its row in permission/names.go differs", spec.Name, spec.Foreign)
		}
	}
}

// A call of any tool that can return the content of an untrusted file marks the job. A new tool needs a row.
func TestEachToolThatReadsUntrustedFilesMarksTheJob(t *testing.T) {
	const file = "vendor/a.go"
	reads := map[string]tooltest.Args{
		"bash": {"command": "cat " + file, "description": "x"}, "read": {"filePath": file}, "list": {"path": "vendor"},
		"glob": {"pattern": "vendor/*"}, "grep": {"pattern": "x", "path": "vendor"}, "lsp": {"operation": "hover", "filePath": file, "line": 1, "character": 1},
		"edit": {"filePath": file, "oldString": "one", "newString": "two"}, "write": {"filePath": file, "content": "two\n"},
		"apply_patch": tooltest.PatchOf("*** Update File: "+file, "@@", "-one", "+two"),
		"batch":       tooltest.BatchOf(tooltest.Batched("read", tooltest.Args{"filePath": file})),
	}
	others := []string{"task", "skill", "todowrite", "todoread", "webfetch", "websearch", "codesearch"} // read no files of the workspace
	_, all := every(t, nil)
	for _, tool := range all {
		name := tool.Spec().Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arguments, reader := reads[name]
			if reader == slices.Contains(others, name) {
				t.Fatal("the test has no row for this tool: does it read files?")
			}
			if !reader {
				return
			}
			s, _ := every(t, map[string]string{file: "one\n"})
			job := &untrusted.Job{Files: []string{"vendor/**"}}
			job.Found(true, true)
			s.Env.Untrusted = untrusted.Reader{Job: job}
			if out := s.Call(name, arguments); !job.Is() {
				t.Errorf("the job is not marked after %s: %s %s", out.Status, out.Output, out.Error)
			}
		})
	}
}

// A call that would mark the job must be allowed by the rights that the job has after it. If it is not, it has read nothing.
func TestACallThatReadsUntrustedFilesNeedsTheRightsThatAreLeft(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]tools.Status{"sh vendor/a.sh": tools.Denied, "sh own.sh": tools.Completed} {
		s := tooltest.SetUp(t, "full", map[string]string{"vendor/a.sh": "echo done >planted\n", "own.sh": "echo done >planted\n"})
		job := &untrusted.Job{Limits: untrusted.Limits{Bash: true, Source: "m.yaml:3"}, Files: []string{"vendor/**"}}
		s.Env.Untrusted = untrusted.Reader{Job: job}
		out := s.Call("bash", tooltest.Args{"command": command, "description": "x"})
		if want == tools.Denied && !strings.Contains(out.Error, "(m.yaml:3, which limits profile full): untrusted file vendor/a.sh") {
			t.Errorf("%s: %s", command, out.Error)
		}
		_, err := os.Stat(filepath.Join(s.Dir, "planted"))
		if denied := want == tools.Denied; out.Status != want || job.Is() || denied != errors.Is(err, fs.ErrNotExist) || out.Decision.Allowed() == denied {
			t.Errorf("%s: %s, marked %v, decided by %+v, file: %v", command, out.Status, job.Is(), out.Decision, err)
		}
	}
}

// OpenCode 2 calls bash shell, and task subagent; so do models that know it.
func TestNamesOfOpenCode2(t *testing.T) {
	s := tooltest.SetUp(t, "build", map[string]string{"a.txt": "one\n"})
	for _, name := range []string{"shell", "Shell", "functions.shell"} {
		s.Want(s.Call(name, tooltest.Args{"command": "cat a.txt"}), tools.Completed, "one")
	}
	s.Want(s.Call("subagent", tooltest.Args{"prompt": "x", "description": "x", "subagent_type": "explore"}), tools.Failed, `tool "subagent" is not available: no subagents`)
	readonly := tooltest.SetUp(t, "readonly", nil)
	readonly.Want(readonly.Call("shell", tooltest.Args{"command": "touch x"}), tools.Denied)
	if !permission.Reserved("Shell") || !permission.Reserved("subagent") || permission.Reserved("files_shell") {
		t.Error("the names are not reserved, or too many are")
	}
}

func TestNamespacesOfToolsAreIgnored(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", map[string]string{"a.txt": "one\n"})
	for _, name := range []string{
		"functions.read", "default_api.read", " Tools.Read", "tool.read", "function.READ", "functions/read", "default_api:read",
		"read<|channel|>commentary", "read<|channel|>json<|message|>", "functions.read:0", "read()", "<|tool_call|>read", "assistant<|channel|>commentary to=functions.read", "read\n",
	} {
		s.Want(s.Call(name, tooltest.Args{"filePath": "a.txt"}), tools.Completed, "1: one")
	}
	s.Want(s.Call("functions.bash", tooltest.Args{"command": "touch x"}), tools.Denied)
	for _, name := range []string{"files.read", "functions.", "functions.functions.read", "read.functions", "functions.nonsense", "read<", "read: x", "files/read", "to=", "<|read|>", "read(x)"} {
		s.Want(s.Call(name, tooltest.Args{"filePath": "a.txt"}), tools.Failed, "not found; available tools")
	}
}

// plainSchema says what of a schema not every provider takes.
func plainSchema(at string, schema map[string]any) []string {
	var faults []string
	for key := range schema {
		if !slices.Contains([]string{"type", "properties", "required", "description", "items", "enum", "additionalProperties"}, key) {
			faults = append(faults, fmt.Sprintf("%s: %s", at, key))
		}
	}
	kind, ok := schema["type"].(string)
	if !ok {
		faults = append(faults, fmt.Sprintf("%s: its type is %v", at, schema["type"]))
	}
	props, ok := schema["properties"].(map[string]any)
	if open := strings.HasSuffix(at, ".parameters"); kind == "object" && (!ok && !open || schema["additionalProperties"] != open) {
		faults = append(faults, at+": an object that does not list its properties, or not all")
	}
	for name, prop := range props {
		faults = append(faults, plainSchema(at+"."+name, prop.(map[string]any))...)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		faults = append(faults, plainSchema(at+"[]", items)...)
	}
	if required, ok := schema["required"].([]any); ok {
		for _, name := range required {
			if props[name.(string)] == nil {
				faults = append(faults, fmt.Sprintf("%s: requires %s", at, name))
			}
		}
	}
	return faults
}

func TestSchemasUseOnlyPortableKeywords(t *testing.T) {
	all, err := tools.For(tooltest.Equipped(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range all.All() {
		if faults := plainSchema(tool.Spec().Name, tool.Spec().Schema); len(faults) > 0 {
			t.Errorf("%q", faults)
		}
	}
}
