package scaffold

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model/kinds"
	"github.com/millhand/millhand/internal/prices"
)

// The price of each model for a first manifest is known, as the manifest has a cost limit.
func TestFirstModels(t *testing.T) {
	for _, name := range kinds.Names() {
		kind, _ := kinds.Lookup(name)
		if kind.First == "" {
			continue
		}
		m, known := prices.BuiltIn().Of(name + "/" + kind.First)
		if _, priced := m.Price(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)); !known || !priced {
			t.Errorf("%s/%s has no price", name, kind.First)
		}
	}
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "OPENROUTER_API_KEY", "CEREBRAS_API_KEY"} {
		w := world.World{Getenv: func(name string) string { return map[string]string{key: "k"}[name] }}
		if _, got, set := firstModel(w); got != key || !set {
			t.Errorf("%s is set: got %s, %t", key, got, set)
		}
	}
}

// testWorld has a key of OpenAI.
func testWorld(t *testing.T) (w world.World, out, log *strings.Builder) {
	t.Helper()
	out, log = &strings.Builder{}, &strings.Builder{}
	env := map[string]string{"HOME": t.TempDir(), "PATH": os.Getenv("PATH"), "OPENAI_API_KEY": "sk-0"}
	return world.World{Out: out, Err: log, Now: time.Now, Version: "v0.3.0", Dir: t.TempDir(), Getenv: func(name string) string { return env[name] }}, out, log
}

func TestManifestFitsTheProjectAndReplacesNothing(t *testing.T) {
	w, out, log := testWorld(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte("test:\n\ttrue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), w, Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "millhand.yaml")
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), schemaLine("v0.3.0")) || !strings.Contains(string(text), "make test") || !strings.Contains(string(text), "model: openai/gpt-5-mini") {
		t.Errorf("%v: %s", err, text)
	}
	if !strings.Contains(out.String(), "OPENAI_API_KEY is set") || strings.Contains(out.String(), "export ") || !strings.Contains(log.String(), "make test") {
		t.Errorf("%s%s", out, log)
	}
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = Write(t.Context(), w, Options{Dir: dir, Cron: true})
	if entries, _ := os.ReadDir(dir); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "use --force") || len(entries) != 2 {
		t.Errorf("%v: %v", err, entries)
	}
	if err := Write(t.Context(), w, Options{Dir: dir, Force: true}); err != nil {
		t.Error(err)
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(text) {
		t.Errorf("%v: %s", err, again)
	}
}

func TestFilesOfTwoKindsAreNotMixed(t *testing.T) {
	for _, o := range []Options{{GitHub: true, Cron: true}, {GitLab: true, OpenCode: true}, {Demo: true, Force: true}, {Demo: true, OpenCode: true}} {
		w, _, _ := testWorld(t)
		o.Dir = filepath.Join(t.TempDir(), "new")
		err := Write(t.Context(), w, o)
		if _, missing := os.Stat(o.Dir); fault.ExitOf(err) != event.ExitUsage || !strings.Contains(err.Error(), "exclude") || missing == nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestConvertedManifestIsValidated(t *testing.T) {
	w, out, _ := testWorld(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "opencode.json"), []byte(`{"model": "openai/gpt-5-mini"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(t.Context(), w, Options{Dir: dir, OpenCode: true}); err != nil || !strings.Contains(out.String(), "millhand.yaml: 1 job, no problems found") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestDemoIsANewRepositoryWithOneCommit(t *testing.T) {
	w, _, _ := testWorld(t)
	dir := filepath.Join(t.TempDir(), "demo")
	if err := Write(t.Context(), w, Options{Dir: dir, Demo: true}); err != nil {
		t.Fatal(err)
	}
	log, err := exec.CommandContext(t.Context(), "git", "-C", dir, "log", "--oneline").Output()
	if err != nil || strings.Count(string(log), "\n") != 1 {
		t.Errorf("%v: %q", err, log)
	}
	if err := Write(t.Context(), w, Options{Dir: dir, Demo: true}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a second time: %v", err)
	}
}

// Editors get the schema of the release that wrote the manifest, and of main otherwise.
func TestSchemaIsThatOfTheRelease(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "/v1.2.3/docs/", "0.3.0-dev+0123456789ab": "/main/docs/", "v1.2.3-rc1": "/main/docs/", "": "/main/docs/"} {
		if got := schemaLine(version); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q", version, got)
		}
	}
}
