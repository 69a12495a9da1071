package toolbox

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/load"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/testing/gittest"
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tools"
)

// in returns a world whose current directory is a new one with files.
func in(t *testing.T, files map[string]string) (w world.World, out, log *strings.Builder) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, log = &strings.Builder{}, &strings.Builder{}
	env := map[string]string{"HOME": t.TempDir(), "PATH": os.Getenv("PATH"), "OPENAI_API_KEY": "sk-0123456789abcdef0123456789abcdef"}
	return world.World{Dir: dir, Out: out, Err: log, Now: time.Now, Getenv: func(name string) string { return env[name] }, System: []string{t.TempDir()}}, out, log
}

// call calls a tool in the current directory, and returns the exit code and what was printed.
func call(t *testing.T, w world.World, o Options, input map[string]any) (event.Exit, callDocument) {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	w.In, o.Dir, o.Sandbox = strings.NewReader(string(text)), ".", "off"
	out := &strings.Builder{}
	w.Out = out
	err = Call(t.Context(), w, o)
	exit, known := event.ExitOK, fault.Error{}
	if errors.As(err, &known) {
		exit = known.Kind
	}
	var doc callDocument
	if parsed := json.Unmarshal([]byte(out.String()), &doc); parsed != nil {
		t.Fatalf("%v, %v: %q", err, parsed, out)
	}
	return exit, doc
}

func TestExitCodeOfACallIsThatOfItsStatus(t *testing.T) {
	w, _, _ := in(t, map[string]string{"a.txt": "one\n"})
	for _, tt := range []struct {
		name, profile string
		input         map[string]any
		exit          event.Exit
		status        tools.Status
		output        string
	}{
		{"read", "readonly", map[string]any{"filePath": "a.txt"}, event.ExitOK, tools.Completed, "one"},
		{"read", "readonly", map[string]any{"filePath": "b.txt"}, event.ExitFailed, tools.Failed, ""},
		{"write", "readonly", map[string]any{"filePath": "a.txt", "content": "two\n"}, event.ExitPolicy, tools.Denied, ""},
		{"bash", "full", map[string]any{"command": "cat a.txt", "description": "Prints it."}, event.ExitOK, tools.Completed, "one"},
	} {
		exit, doc := call(t, w, Options{Name: tt.name, ProfileOptions: load.ProfileOptions{Profile: tt.profile}}, tt.input)
		if exit != tt.exit || doc.Status != tt.status || !strings.Contains(doc.Output, tt.output) {
			t.Errorf("%s %v: exit code %d, %+v", tt.name, tt.input, exit, doc)
		}
		if denied := tt.status == tools.Denied; denied && (doc.Decision == nil || doc.Decision.Effect != "deny" || doc.Decision.Rule == "") {
			t.Errorf("%s: decision %+v", tt.name, doc.Decision)
		}
	}
	if text, err := os.ReadFile("a.txt"); err != nil || string(text) != "one\n" {
		t.Errorf("a.txt after a denied call: %q, %v", text, err)
	}
}

func TestKeysAreNotInTheResult(t *testing.T) {
	w, _, _ := in(t, map[string]string{"a.txt": "the key is sk-0123456789abcdef0123456789abcdef.\n"})
	if _, doc := call(t, w, Options{Name: "read"}, map[string]any{"filePath": "a.txt"}); !strings.Contains(doc.Output, "the key is ") || strings.Contains(doc.Output, "sk-0123") {
		t.Errorf("%q", doc.Output)
	}
}

const custom = `version: 1
model: openai/gpt-5-mini
profiles: {p: {extends: readonly, permission: {count: allow}}}
tools: {count: {description: Counts words., command: [sh, -c, "wc -w <a.txt"], parameters: {type: object, properties: {text: {type: string}}}}}
tasks: [{id: t, prompt: Look., repos: [{path: .}]}]
`

func TestToolOfAManifestIsListedAndCalled(t *testing.T) {
	w, out, _ := in(t, map[string]string{"m.yaml": custom, "a.txt": "one two three\n"})
	o := Options{Name: "count", ProfileOptions: load.ProfileOptions{Manifest: "m.yaml", Profile: "p"}}
	if exit, doc := call(t, w, o, map[string]any{"text": "x"}); exit != event.ExitOK || strings.TrimSpace(doc.Output) != "3" {
		t.Errorf("exit code %d: %+v", exit, doc)
	}
	o.JSON = true
	if err := List(t.Context(), w, o); err != nil {
		t.Fatal(err)
	}
	var docs []specDocument
	if err := json.Unmarshal([]byte(out.String()), &docs); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(docs, func(d specDocument) bool { return d.Name == "count" })
	if at < 0 || docs[at].Description != "Counts words." || docs[at].Parameters["type"] != "object" {
		t.Errorf("%s", out)
	}
	invalid := strings.ReplaceAll(custom, "prompt:", "promt:")
	if err := os.WriteFile("m.yaml", []byte(invalid), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := List(t.Context(), w, o); err == nil || !strings.Contains(err.Error(), `unknown key "promt"`) {
		t.Errorf("an invalid manifest: %v", err)
	}
}

func TestOnlyToolsOfTheProfileAreListed(t *testing.T) {
	names := func(profile string) map[string]bool {
		w, out, _ := in(t, nil)
		if err := List(t.Context(), w, Options{ProfileOptions: load.ProfileOptions{Profile: profile}}); err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{}
		for line := range strings.Lines(out.String()) {
			all[strings.Fields(line)[0]] = true
		}
		return all
	}
	full, readonly := names("full"), names("readonly")
	for name := range maps.Keys(readonly) {
		if !full[name] {
			t.Errorf("%s is offered with readonly only", name)
		}
	}
	if !full["bash"] || !full["edit"] || readonly["bash"] || readonly["edit"] || !readonly["read"] {
		t.Errorf("full %v, readonly %v", full, readonly)
	}
}

func TestArgumentsOfATool(t *testing.T) {
	for _, tt := range []struct {
		dir   string
		args  []string
		lists bool
		want  string // error
	}{
		{"", []string{"list"}, true, ""},
		{".", []string{"list"}, false, ""}, // the tool of that name
		{".", []string{"read"}, false, ""},
		{"", []string{"read"}, false, "requires a NAME and --dir"},
		{".", nil, false, "requires a NAME and --dir"},
		{".", []string{"lsp"}, false, "requires --manifest"},
	} {
		o := Options{Dir: tt.dir}
		err := o.Parse(tt.args)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) || o.Lists() != tt.lists {
			t.Errorf("%q in %q: %v, lists %t", tt.args, tt.dir, err, o.Lists())
		}
	}
}

func TestCredentialsOfARepositoryAreHiddenDuringACall(t *testing.T) {
	w, _, _ := in(t, nil)
	s := gittest.NewSandbox(t)
	s.Run("config", "http.https://example.org/.extraheader", "AUTHORIZATION: basic c2VjcmV0LW9mLXRoZS1yZXBvc2l0b3J5")
	config := filepath.Join(s.Root, ".git", "config")
	has := func() bool {
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "c2VjcmV0")
	}
	repo, err := repository(w, s.Root)
	if err != nil {
		t.Fatal(err)
	}
	secrets, restore, err := hideHeaders(t.Context(), w, repo)
	if err != nil || has() || !slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(s, "c2VjcmV0") }) {
		t.Errorf("during a call: %v, in the file: %t, secrets %q", err, has(), secrets)
	}
	if restore(); !has() {
		t.Error("they are not restored")
	}
}

func TestOutputsOfOthersAreNotUsed(t *testing.T) {
	tmp := t.TempDir()
	first, err := openOutputs(tmp)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	again, err := openOutputs(tmp)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Path() != first.Path() {
		t.Errorf("a later call uses %s, not %s", again.Path(), first.Path())
	}
	if err := os.Chmod(first.Path(), 0o777); err != nil { //nolint:gosec // the test
		t.Fatal(err)
	}
	fresh, err := openOutputs(tmp)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if fresh.Path() == first.Path() {
		t.Errorf("%s is used, which others can write to", fresh.Path())
	}
}

func TestPluginsServeEveryCallAndToolFilesOnlyTheirOwn(t *testing.T) {
	files := tasks.Scripts{ToolFiles: []tasks.ScriptFile{{Name: "t.js"}}}
	plugins := tasks.Scripts{Plugins: []tasks.ScriptFile{{Name: "p.js"}}}
	for _, tt := range []struct {
		of   tasks.Scripts
		call string
		want bool
	}{
		{tasks.Scripts{}, "", false}, {files, "", true}, {files, "read", false}, {files, "batch", true}, {files, "mine", true}, {plugins, "read", true},
	} {
		set := settings{plan: &tasks.Plan{Scripts: tt.of}}
		if _, needed := set.scripts(tt.call); needed != tt.want {
			t.Errorf("%+v for %q: %t", tt.of, tt.call, needed)
		}
	}
}
