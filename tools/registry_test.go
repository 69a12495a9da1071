package tools

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millhand/millhand/internal/permission"
)

var update = flag.Bool("update", false, "write the golden files anew")

// equipped is an Env with everything there can be.
func equipped(model string) *Env {
	full, _ := permission.Preset("full")
	return &Env{
		Profile: full, Model: model, Batch: true, Search: SearchConfig{Backend: "json", URL: "https://search.example.com/"},
		Now:    func() time.Time { return time.Date(2031, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600)) },
		Skills: Skills{List: []Skill{{Name: "deploy", Description: "how this shop is put into service"}}},
		Agents: []Agent{{Name: "explore", Description: "looks through files"}},
		Spawn:  func(context.Context, SpawnRequest) (SpawnResult, error) { return SpawnResult{}, errors.New("not here") },
	}
}

func offered(t *testing.T, env *Env) []string {
	t.Helper()
	r, err := For(env)
	if err != nil {
		t.Fatal(err)
	}
	return r.Offered(env.Profile)
}

// What models are shown is a text that they were tried with: it changes on
// purpose only.
func TestOfferedTools(t *testing.T) {
	env := equipped("")
	tools, err := For(env)
	if err != nil {
		t.Fatal(err)
	}
	type shown struct {
		Name, Description string
		Schema            map[string]any
	}
	var offer []shown
	for _, s := range tools.Offer(env.Profile) {
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
	const file = "testdata/offer.json"
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("run the test with -update if this is meant:\n%s", diff)
	}
}

func TestHiddenToolsAreNotOffered(t *testing.T) {
	const look, notes = "read list glob grep", "todowrite todoread skill"
	tests := []struct {
		preset string
		change func(*stage)
		want   string
	}{
		{"readonly", nil, look + " " + notes},
		{"review", nil, "bash " + look + " " + notes},
		{"edit", nil, look + " edit write apply_patch " + notes},
		{"build", nil, "bash " + look + " edit write apply_patch " + notes},
		{"full", nil, "bash " + look + " edit write apply_patch webfetch " + notes},
		{"build", func(s *stage) { s.deny("bash", "*") }, look + " edit write apply_patch " + notes},
		{"build", func(s *stage) { s.deny("*", "*") }, ""},
		{"build", func(s *stage) { s.deny("*", "*"); s.allow("edit", "docs/*") }, "edit write apply_patch"},
	}
	for _, tt := range tests {
		s := setUp(t, tt.preset, nil)
		if tt.change != nil {
			tt.change(s)
		}
		if diff := cmp.Diff(strings.Fields(tt.want), s.tools.Offered(s.env.Profile), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", tt.preset, diff)
		}
	}
}

func TestOfferedToolsDependOnModelAndEnv(t *testing.T) {
	const all = "bash read list glob grep edit write apply_patch task webfetch todowrite todoread websearch codesearch skill batch"
	without := func(names ...string) string {
		return strings.Join(slices.DeleteFunc(strings.Fields(all), func(n string) bool { return slices.Contains(names, n) }), " ")
	}
	tests := []struct {
		name, model string
		change      func(*Env)
		want        string
	}{
		{"no model: everything", "", nil, all},
		{"a model for patches", "openai/gpt-5-mini", nil, without("edit", "write")},
		{"in capitals", "openai/GPT-5", nil, without("edit", "write")},
		{"another", "openrouter/openai/gpt-5.2-codex", nil, without("edit", "write")},
		{"gpt-4 and its kin edit", "openai/gpt-4.1", nil, without("apply_patch")},
		{"gpt-4o", "openai/gpt-4o", nil, without("apply_patch")},
		{"gpt-oss", "openrouter/openai/gpt-oss-120b", nil, without("apply_patch")},
		{"o3", "openai/o3", nil, without("apply_patch")},
		{"others", "anthropic/claude-sonnet-4-5", nil, without("apply_patch")},
		{"a script", "script:model.yaml", nil, without("apply_patch")},
		{"no search service", "x", func(e *Env) { e.Search = SearchConfig{} }, without("apply_patch", "websearch", "codesearch")},
		{"no batch", "x", func(e *Env) { e.Batch = false }, without("apply_patch", "batch")},
		{"nothing that starts agents", "x", func(e *Env) { e.Spawn = nil }, without("apply_patch", "task")},
		{"no skills", "x", func(e *Env) { e.Skills = Skills{} }, without("apply_patch", "skill")},
		{"no skill that is allowed", "x", func(e *Env) {
			e.Profile.Rules = append(e.Profile.Rules, permission.Rule{Permission: "skill", Pattern: "dep*"})
		}, without("apply_patch", "skill")},
	}
	for _, tt := range tests {
		env := equipped(tt.model)
		if tt.change != nil {
			tt.change(env)
		}
		if diff := cmp.Diff(tt.want, strings.Join(offered(t, env), " ")); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestToolNamesAreUnique(t *testing.T) {
	for _, name := range []string{"bash", "BASH", "task", "websearch", "git", "external_directory", "question", "invalid"} {
		tool, err := NewCustom(Custom{Name: name, Description: "x", Command: []string{"true"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := For(&Env{}, tool); err == nil {
			t.Errorf("a second %s is taken", name)
		}
	}
	tool, err := NewCustom(Custom{Name: "deploy", Description: "x", Command: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := For(&Env{}, tool, tool); err == nil {
		t.Error("two tools of one name are taken")
	}
}

func TestParallelTools(t *testing.T) {
	tools, err := For(equipped(""))
	if err != nil {
		t.Fatal(err)
	}
	var readOnly, beside []string
	for _, name := range append(tools.Offered(equipped("").Profile), "GREP", "unknown") {
		if tools.ReadOnly(name) {
			readOnly = append(readOnly, name)
		}
		if tools.Parallel(name) {
			beside = append(beside, name)
		}
	}
	if got, want := strings.Join(readOnly, " "), "read list glob grep webfetch todoread websearch codesearch skill GREP"; got != want {
		t.Errorf("read-only are %s", got)
	}
	if got, want := strings.Join(beside, " "), "read list glob grep task webfetch todoread websearch codesearch skill GREP"; got != want {
		t.Errorf("parallel: %s", got)
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
		env := equipped(model)
		env.Languages = &Languages{}
		r, err := For(env)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range slices.Concat(r.tools, r.spare) {
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

// OpenCode 2 calls bash shell, and task subagent; so do models that know it.
func TestNamesOfOpenCode2(t *testing.T) {
	s := setUp(t, "build", map[string]string{"a.txt": "one\n"})
	for _, name := range []string{"shell", "Shell", "functions.shell"} {
		s.want(s.call(name, args{"command": "cat a.txt"}), Completed, "one")
	}
	s.want(s.call("subagent", args{"prompt": "x", "description": "x", "subagent_type": "explore"}), Failed, `tool "subagent" is not available: no subagents`)
	readonly := setUp(t, "readonly", nil)
	readonly.want(readonly.call("shell", args{"command": "touch x"}), Denied)
	if !permission.Reserved("Shell") || !permission.Reserved("subagent") || permission.Reserved("files_shell") {
		t.Error("the names are not reserved, or too many are")
	}
}

func TestNamespacesOfToolsAreIgnored(t *testing.T) {
	s := setUp(t, "readonly", map[string]string{"a.txt": "one\n"})
	for _, name := range []string{
		"functions.read", "default_api.read", " Tools.Read", "tool.read", "function.READ", "functions/read", "default_api:read",
		"read<|channel|>commentary", "read<|channel|>json<|message|>", "functions.read:0", "read()", "<|tool_call|>read", "assistant<|channel|>commentary to=functions.read", "read\n",
	} {
		s.want(s.call(name, args{"filePath": "a.txt"}), Completed, "1: one")
	}
	s.want(s.call("functions.bash", args{"command": "touch x"}), Denied)
	for _, name := range []string{"files.read", "functions.", "functions.functions.read", "read.functions", "functions.nonsense", "read<", "read: x", "files/read", "to=", "<|read|>", "read(x)"} {
		s.want(s.call(name, args{"filePath": "a.txt"}), Failed, "not found; available tools")
	}
}
