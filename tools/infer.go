package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/text/schema"
)

// arguments are the arguments of another tool: any JSON object.
type arguments struct{ json.RawMessage }

// inferred is the schema of a struct type. Nobody changes it.
type inferred struct {
	doc map[string]any
	// compiled compiles the schema at the first call, as most runs call few of their
	// tools. It fails if the type has none: a programming error, caught by the registry's test.
	compiled func() (*schema.Schema, error)
}

// inferredSchemas has the schemas of struct types by type: each session has tools of its own.
var inferredSchemas sync.Map

// inferSchema returns the schema of a struct type.
func inferSchema[In any]() *inferred {
	key := reflect.TypeFor[In]()
	known, ok := inferredSchemas.Load(key)
	if !ok {
		doc, err := schemaOf(key)
		known, _ = inferredSchemas.LoadOrStore(key, &inferred{doc, sync.OnceValues(func() (*schema.Schema, error) {
			if err != nil {
				return nil, err
			}
			return schema.Compile(doc)
		})})
	}
	return known.(*inferred) //nolint:forcetypeassert // nothing else is stored
}

// schemaOf returns the schema of a type, of the few kinds that arguments have. It has no
// constructs that strict providers reject: no unions with null, and objects have properties.
// Every process needs those of all tools, so that a general library is too slow.
func schemaOf(t reflect.Type) (map[string]any, error) {
	if t == reflect.TypeFor[arguments]() {
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
