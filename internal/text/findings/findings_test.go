package findings

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/text/schema"
)

const example = `{"summary": "Two problems.", "findings": [
	{"path": "./b.go", "line": 0, "severity": "note", "rule": "Missing test", "message": "m", "suggestion": ""},
	{"path": "../etc/passwd", "line": 3, "severity": "warning", "rule": "…", "message": "m", "suggestion": "s"},
	{"path": "src/a.go", "line": -1, "severity": "error", "rule": "SQL_injection!", "message": "m", "suggestion": "s"}]}`

func TestTheExampleMatchesTheSchemaAndIsParsed(t *testing.T) {
	compiled, err := schema.Compile(Schema())
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal([]byte(example), &doc); err != nil {
		t.Fatal(err)
	}
	if faults := compiled.Validate(doc); faults != nil {
		t.Errorf("the example does not match the schema: %v", faults)
	}
	got, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want := &Review{"Two problems.", []Finding{
		{"src/a.go", 0, Error, "sql-injection", "m", "s"},
		{"", 0, Warning, "other", "m", "s"},
		{"b.go", 0, Note, "missing-test", "m", ""},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLinesAreAnyInteger(t *testing.T) {
	for in, want := range map[string]int{"3": 3, "3.0": 3, "3e1": 30, "1e30": 0, "-1": 0, "-1e400": 0, "1e400": 0, "2147483647": 2147483647, "2147483648": 0} {
		r, err := Parse([]byte(`{"summary": "", "findings": [{"path": "a.go", "line": ` + in + `}]}`))
		if err != nil || r.Findings[0].Line != want {
			t.Errorf("%s: %+v, %v", in, r, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Add(`{"findings": [{"path": "C:\\x", "line": 1e30}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := Parse([]byte(in))
		if err != nil {
			return
		}
		for _, one := range r.Findings {
			if strings.HasPrefix(one.Path, "/") || one.Path == ".." || strings.HasPrefix(one.Path, "../") || strings.ContainsFunc(one.Path, unicode.IsControl) || one.Line < 0 || one.Rule == "" {
				t.Errorf("%q has %+v", in, one)
			}
		}
	})
}
