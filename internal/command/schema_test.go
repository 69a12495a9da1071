package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/text/schema"
)

// command runs the command line and returns its exit code and both outputs.
func command(t *testing.T, args ...string) (exit int, out string) {
	t.Helper()
	var b bytes.Buffer
	exit = Main(t.Context(), append([]string{"millhand"}, args...), world.World{Out: &b, Err: &b, Getenv: func(string) string { return "" }})
	return exit, b.String()
}

// TestSchemaOfTheDocs compares docs/manifest.schema.json, which editors download, with
// the output of the command.
func TestSchemaOfTheDocs(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "manifest.schema.json")
	_, out := command(t, "schema")
	if *update {
		if err := os.WriteFile(file, []byte(out), 0o644); err != nil { //nolint:gosec // it is a source file
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out); diff != "" {
		t.Errorf("docs/manifest.schema.json differs; run this test with -update:\n%s", diff)
	}
}

func TestSchemaOfEvents(t *testing.T) {
	s, err := schema.Compile(parsedSchema(t, "events"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../report/testdata/*.jsonl")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !strings.HasSuffix(line, "\n") && filepath.Base(file) == "killed.jsonl" {
				break // it is incomplete
			}
			doc, err := schema.Parse(line)
			if err == nil {
				err = s.Validate(doc)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", file, err, line)
			}
		}
	}
	for _, line := range []string{
		`{"type": "run.started", "time": "2026-01-01T00:00:00Z"}`,
		`{"seq": 1, "type": "changes", "time": "2026-01-01T00:00:00Z", "changes": {}}`,
		`{"seq": 1, "type": "run.ended", "time": "2026-01-01T00:00:00Z", "run_end": {"outcome": 7}}`,
	} {
		doc, err := schema.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(doc) == nil {
			t.Errorf("%s is accepted", line)
		}
	}
}

func parsedSchema(t *testing.T, name string) map[string]any {
	t.Helper()
	_, out := command(t, "schema", name)
	doc, err := schema.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	return doc.(map[string]any)
}

// The scripts of the tests and the examples match the schema of scripts, and so does the page about them.
func TestSchemaOfScripts(t *testing.T) {
	s, err := schema.Compile(parsedSchema(t, "script"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	check := func(name, text string) {
		var doc map[string]any
		if _, err := script.Parse([]byte(text), name); err != nil || yaml.Unmarshal([]byte(text), &doc) != nil {
			return // another file
		}
		n++
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := schema.Parse(string(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(parsed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	files, err := filepath.Glob("../testing/e2e/testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for section := range strings.SplitSeq(string(data), "\n-- ") {
			name, text, _ := strings.Cut(section, " --\n")
			if strings.HasPrefix(text, "version: 1\nturns:") {
				check(filepath.Base(file)+" "+name, text)
			}
		}
	}
	page, err := os.ReadFile("../../docs/scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "    version: 1\n")
	block, _, _ = strings.Cut(block, "\n\n")
	before := n
	check("docs/scripts.md", "version: 1\n"+strings.ReplaceAll("\n"+block, "\n    ", "\n"))
	if n == before {
		t.Error("docs/scripts.md has no script")
	}
	if n < 100 {
		t.Errorf("only %d scripts", n)
	}
	for _, text := range []string{"version: 1", "version: 2\nturns: []", "version: 1\nturns: [{}]", "version: 1\nturns: [{text: a, error: {status: 500}}]", "version: 1\nturns: [{error: {message: a}}]", "version: 1\nturns: [{calls: [{args: {}}]}]", "version: 1\nturns: [{txt: a}]"} {
		var doc any
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := schema.Parse(string(data))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := script.Parse([]byte(text), "x"); err == nil || s.Validate(parsed) == nil {
			t.Errorf("%s is accepted: %v", text, err)
		}
	}
}
