package form

import (
	"errors"
	"io"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// The tests of this file show why values are read from the nodes of yaml.v3, and not decoded into structs. Where one
// of them fails with another version, code of our own can be deleted.

// TestLibraryNamesTypesOfGo has a misspelt key: its error has no column and no suggestion, and names a type.
func TestLibraryNamesTypesOfGo(t *testing.T) {
	dec := yaml.NewDecoder(strings.NewReader("prompt: x\nprmopt: y\n"))
	dec.KnownFields(true)
	var v struct{ Prompt string }
	err := dec.Decode(&v)
	if want := "yaml: unmarshal errors:\n  line 2: field prmopt not found in type struct { Prompt string }"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestLibraryIgnoresDocuments has a second document, which nothing reports.
func TestLibraryIgnoresDocuments(t *testing.T) {
	var v struct{ Prompt string }
	if err := yaml.Unmarshal([]byte("prompt: x\n---\nprompt: y\n"), &v); err != nil || v.Prompt != "x" {
		t.Errorf("%q, %v", v.Prompt, err)
	}
}

// TestLibraryHasNoPositionsOfValues has a value of the wrong type after a valid one.
func TestLibraryHasNoPositionsOfValues(t *testing.T) {
	var v struct{ Jobs []int }
	err := yaml.Unmarshal([]byte("jobs: [1, 2, three]\n"), &v)
	if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "line 1: cannot unmarshal !!str `three` into int") {
		t.Errorf("%v", err)
	}
}
