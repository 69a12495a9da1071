package schema

import (
	"errors"
	"strings"
	"testing"
)

func TestFaultsOfADocument(t *testing.T) {
	s, err := Compile(map[string]any{"type": "object", "required": []string{"a"}, "properties": map[string]any{"n": map[string]any{"type": "integer", "maximum": int64(3)}}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"a": 1, "n": 3}`: "",
		`{"a": 1, "n": 4}`: "at /n: maximum: got 4, want 3",
		`{"n": "x"}`:       "at /n: got string, want integer",
	} {
		doc, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Validate(doc)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse("{} {}"); err == nil {
		t.Error("two documents were parsed as one")
	}
}

func TestFaultsOfASchema(t *testing.T) {
	_, err := Compile(map[string]any{"properties": map[string]any{"a": map[string]any{"type": "text"}}})
	var faults Faults
	if !errors.As(err, &faults) || strings.Join(faults[0].At, " ") != "properties a type" {
		t.Errorf("%v", err)
	}
	_, err = Compile(map[string]any{"$ref": "file:///etc/passwd"})
	if err == nil || !strings.Contains(err.Error(), "nothing is read from elsewhere") || strings.Contains(err.Error(), address) {
		t.Errorf("%v", err)
	}
}
