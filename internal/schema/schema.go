// Package schema compiles JSON Schemas and checks documents against them. It
// reads no files and no addresses: a schema that refers to another document
// does not compile.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema checks documents. Several goroutines may use it.
type Schema struct{ compiled *jsonschema.Schema }

// Compile compiles a schema. The error is of type [Faults] if the document is
// JSON, but not a JSON Schema.
func Compile(doc map[string]any) (*Schema, error) {
	data, err := json.Marshal(doc) // the compiler does not know every type of number
	if err != nil {
		return nil, fmt.Errorf("compile a JSON Schema: %w", err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("compile a JSON Schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if err := c.AddResource(address, parsed); err != nil {
		return nil, located(err)
	}
	compiled, err := c.Compile(address)
	if err != nil {
		return nil, located(err)
	}
	return &Schema{compiled}, nil
}

// located returns the faults of an error of the compiler, or its text without
// the address.
func located(err error) error {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		if all := faults(invalid.Err); all != nil {
			return all
		}
	}
	return errors.New(strings.ReplaceAll(err.Error(), address, ""))
}

// Validate checks a document as [Parse] returns it. The error is of type
// [Faults].
func (s *Schema) Validate(doc any) error {
	err := s.compiled.Validate(doc)
	if all := faults(err); all != nil {
		return all
	}
	return err
}

// Parse reads one JSON document, and fails if anything follows it. Numbers are
// of type json.Number.
func Parse(text string) (any, error) {
	return jsonschema.UnmarshalJSON(strings.NewReader(text))
}

// faults returns the innermost causes of an error, nil if it has none.
func faults(err error) Faults {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return nil
	}
	return leaves(nil, ve)
}

func leaves(all Faults, ve *jsonschema.ValidationError) Faults {
	if len(ve.Causes) == 0 {
		return append(all, Fault{ve.InstanceLocation, kindOf(ve.ErrorKind)})
	}
	for _, c := range ve.Causes {
		all = leaves(all, c)
	}
	return all
}

// kindOf returns what the library found as a kind of this package.
func kindOf(k jsonschema.ErrorKind) Kind {
	switch k := k.(type) {
	case *kind.Required:
		return &Required{k.Missing}
	case *kind.AdditionalProperties:
		return &AdditionalProperties{k.Properties}
	case *kind.Type:
		return &Type{k.Got, k.Want}
	case *kind.Enum:
		return &Enum{k.Got, k.Want}
	}
	return Other(k.LocalizedString(message.NewPrinter(language.English)))
}

// nowhere keeps schemas from naming files and addresses to read.
type nowhere struct{}

// Load implements the compiler's loader.
func (nowhere) Load(string) (any, error) {
	return nil, errors.New("nothing is read from elsewhere")
}
