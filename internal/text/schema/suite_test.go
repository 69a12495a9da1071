package schema

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSuite runs the cases of the JSON Schema Test Suite that a module in the module cache
// has, and of those the ones without other documents.
func TestSuite(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata")
	if _, statErr := os.Stat(dir); err != nil || statErr != nil {
		t.Skip("the test suite is not in the module cache")
	}
	for draft, uri := range map[string]string{"draft7": "http://json-schema.org/draft-07/schema#", "draft2020-12": "https://json-schema.org/draft/2020-12/schema"} {
		files, err := filepath.Glob(filepath.Join(dir, draft, "*.json"))
		if err != nil || len(files) < 30 {
			t.Fatalf("%d files of %s: %v", len(files), draft, err)
		}
		checked := 0
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n := suiteFile(t, draft+"/"+filepath.Base(file), uri, data)
			checked += n
		}
		t.Logf("%s: %d cases", draft, checked)
		if checked < 700 {
			t.Errorf("%s: only %d cases", draft, checked)
		}
	}
}

func suiteFile(t *testing.T, name, uri string, data []byte) int {
	t.Helper()
	var groups []struct {
		Description string
		Schema      any
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(data, &groups); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range groups {
		doc, ok := g.Schema.(map[string]any)
		if !ok {
			doc = map[string]any{"allOf": []any{g.Schema}}
		}
		if doc["$schema"] == nil {
			doc["$schema"] = uri
		}
		s, err := Compile(doc)
		if err != nil {
			if elsewhere(err) {
				continue
			}
			t.Errorf("%s: %s: %v", name, g.Description, err)
			continue
		}
		for _, c := range g.Tests {
			if strings.HasSuffix(name, "format.json") {
				continue // it is an annotation here, as in 2020-12
			}
			v, err := Parse(string(c.Data))
			if err != nil {
				t.Fatal(err)
			}
			n++
			if err := s.Validate(v); (err == nil) != c.Valid {
				t.Errorf("%s: %s: %s: got %v, want %t", name, g.Description, c.Description, err, c.Valid)
			}
		}
	}
	return n
}

// elsewhere reports whether a schema refers to another document.
func elsewhere(err error) bool {
	var faults Faults
	return errors.As(err, &faults) && slices.ContainsFunc(faults, func(f Fault) bool {
		return strings.Contains(f.String(), "nothing is read from elsewhere") || strings.HasPrefix(f.String(), "draft ")
	})
}
