package arguments

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/text/schema"
)

// Any are the arguments of another tool: any JSON object.
type Any struct{ json.RawMessage }

// Struct is a struct type whose fields are arguments, with its schema, which nobody changes.
type Struct struct {
	Schema map[string]any
	// compiled compiles the schema at the first call, as most runs call few of their
	// tools. It fails if the type has none: a programming error, caught by the registry's test.
	compiled func() (*schema.Schema, error)
}

// structs has the schemas of struct types by type: each session has tools of its own.
var structs sync.Map

// Of returns the schema of a struct type: the json tags of its fields are the names (omitempty means optional), the
// jsonschema tags the descriptions, the enum tags the values.
func Of[In any]() *Struct {
	key := reflect.TypeFor[In]()
	known, ok := structs.Load(key)
	if !ok {
		doc, err := schemaOf(key)
		known, _ = structs.LoadOrStore(key, &Struct{doc, sync.OnceValues(func() (*schema.Schema, error) {
			if err != nil {
				return nil, err
			}
			return schema.Compile(doc)
		})})
	}
	return known.(*Struct) //nolint:forcetypeassert // nothing else is stored
}

// Decode reads the arguments of a call into a pointer to the struct. It returns the names of unknown ones, which it
// ignores.
func (s *Struct) Decode(input json.RawMessage, into any) (ignored []string, err error) {
	compiled, err := s.compiled()
	if err != nil {
		return nil, fmt.Errorf("the tool has an invalid definition: %w", err)
	}
	value, err := parse(input)
	if err != nil {
		return nil, err
	}
	value = coerce(value, s.Schema)
	err = compiled.Validate(value)
	ignored = dropUnknown(value, err, s.Schema)
	if len(ignored) > 0 {
		err = compiled.Validate(value)
	}
	if err != nil {
		return nil, argumentError(err)
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("decode arguments: %w", err)
	}
	if err := json.Unmarshal(plain, into); err != nil {
		if te := (*json.UnmarshalTypeError)(nil); errors.As(err, &te) { // an integer out of range; the schema rejects anything else
			return nil, fmt.Errorf("invalid arguments: %s: %s is out of range", te.Field, te.Value)
		}
		return nil, fmt.Errorf("decode arguments: %w", err)
	}
	return ignored, nil
}

// schemaOf returns the schema of a type, of the few kinds that arguments have. It has no
// constructs that strict providers reject: no unions with null, and objects have properties.
// Every process needs those of all tools, so that a general library is too slow.
func schemaOf(t reflect.Type) (map[string]any, error) {
	if t == reflect.TypeFor[Any]() {
		return map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": true}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int:
		return map[string]any{"type": "integer"}, nil
	case reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Slice:
		items, err := schemaOf(t.Elem())
		return map[string]any{"type": "array", "items": items}, err
	case reflect.Struct:
		return schemaOfStruct(t)
	default:
		return nil, fmt.Errorf("arguments of type %s are not supported", t)
	}
}

func schemaOfStruct(t reflect.Type) (map[string]any, error) {
	properties, required := map[string]any{}, []any{}
	for _, field := range reflect.VisibleFields(t) {
		property, err := schemaOf(field.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field.Name, err)
		}
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if text := field.Tag.Get("jsonschema"); text != "" {
			property["description"] = text
		}
		if values := field.Tag.Get("enum"); values != "" {
			property["enum"] = enumOf(values)
		}
		properties[name] = property
		if option == "" {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s, nil
}

// enumOf returns the values of an enum tag, which are separated by commas.
func enumOf(tag string) (values []any) {
	for value := range strings.SplitSeq(tag, ",") {
		values = append(values, value)
	}
	return values
}
