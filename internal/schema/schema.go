// Package schema compiles JSON Schemas and checks documents against them. It
// reads no files and no addresses: a schema that refers to another document
// does not compile.
//
// It has a validator of its own, as schemas and documents come from servers and
// models: numbers are compared exactly, every fault is reported with its location,
// and the work of one check has a limit, whatever the schema is. The library that
// the MCP SDK uses does none of this. Drafts 4, 6, 7, 2019-09 and 2020-12 are
// supported; a schema that names no draft is of 2020-12. The keyword format is an
// annotation.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Schema checks documents. Several goroutines may use it.
type Schema struct{ root *node }

// Compile compiles a schema. The error is of type [Faults] if the document is
// JSON, but not a JSON Schema; their locations are those of the keywords.
func Compile(doc map[string]any) (*Schema, error) {
	data, err := json.Marshal(doc) // callers have several types of numbers and lists
	if err != nil {
		return nil, fmt.Errorf("compile a JSON Schema: %w", err)
	}
	parsed, err := Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("compile a JSON Schema: %w", err)
	}
	root, faults := compile(parsed)
	if len(faults) > 0 {
		return nil, faults
	}
	return &Schema{root}, nil
}

// Validate checks a document as [Parse] returns it. The error is of type
// [Faults].
func (s *Schema) Validate(doc any) error {
	r := run{steps: maxSteps}
	found, _ := r.check(s.root, doc, nil, nil, false)
	switch {
	case r.exceeded != "":
		return Faults{{Kind: Other(r.exceeded)}}
	case found == nil:
		return nil
	}
	faults := make(Faults, len(found))
	for i, f := range found {
		faults[i] = Fault{f.at.path(), f.kind}
	}
	return faults
}

// Parse reads one JSON document, and fails if anything follows it. Numbers are
// of type json.Number. Of equal keys of an object, the last one counts.
func Parse(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the document")
	}
	return doc, nil
}
