// Package schema compiles JSON Schemas and checks documents against them. It
// reads no files and no addresses: a schema that refers to another document
// does not compile.
//
// santhosh-tekuri/jsonschema does the checks. Schemas and documents come from servers and
// models, so it works behind a guard: sizes, depths and numbers have limits
// (guard.go), one check has a limit of its work (work.go), and panics are errors.
// Drafts 4, 6, 7, 2019-09 and 2020-12 are supported; a schema that names no
// draft is of 2020-12. The keyword format is an annotation.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// address is the base URI of schemas without an "$id".
const address = "millhand://schema/"

// Schema checks documents. Several goroutines may use it.
type Schema struct {
	root *jsonschema.Schema
	work *work
}

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
	limited, fault := limitSchema(parsed, len(data))
	if fault != "" {
		return nil, Faults{{Kind: fault}}
	}
	s := &Schema{work: &work{steps: maxSteps}}
	if faults := s.compile(limited); len(faults) > 0 {
		return nil, faults
	}
	return s, nil
}

func (s *Schema) compile(doc any) (faults Faults) {
	defer func() {
		if p := recover(); p != nil {
			faults = Faults{{Kind: Other(panicked(p))}}
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(nil) // nothing is read from elsewhere
	c.UseRegexpEngine(s.work.expressions())
	if err := c.AddResource(address, doc); err != nil {
		return explain(doc, err)
	}
	root, err := c.Compile(address)
	if err != nil {
		return explain(doc, err)
	}
	roots := []*jsonschema.Schema{root}
	for at := range dynamicAnchors(doc) { // no field of the library's schemas leads to them
		anchored, err := c.Compile(address + "#" + at)
		if err != nil {
			return explain(doc, err)
		}
		roots = append(roots, anchored)
	}
	s.root = root
	return s.work.prepare(roots)
}

// Validate checks a document as [Parse] returns it. The error is of type
// [Faults].
func (s *Schema) Validate(doc any) (err error) {
	var in measured
	limited, _ := in.value(doc, 0, isData)
	switch {
	case in.values > maxValues || in.bytes > maxBytes:
		return Faults{{Kind: Other("the document is too large for the check against the schema")}}
	case in.long:
		return Faults{{Kind: Other(fmt.Sprintf("the check against the schema needs too much work: a number has more than %d digits", maxDigits))}}
	}
	s.work.mu.Lock()
	defer s.work.mu.Unlock()
	s.work.steps, s.work.depth = maxSteps, in.depth
	defer func() {
		if p := recover(); p != nil {
			err = Faults{{Kind: Other(panicked(p))}}
		}
	}()
	var invalid *jsonschema.ValidationError
	switch err := s.root.Validate(limited); {
	case errors.As(err, &invalid):
		return collect(invalid)
	case err != nil:
		return Faults{{Kind: Other(err.Error())}}
	}
	return nil
}

// panicked returns the text for a panic: of [work.spend], or of the library.
func panicked(p any) string {
	if why, ok := p.(exceeded); ok {
		return string(why)
	}
	return "the check against the schema failed: " + brief(fmt.Sprint(p))
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
