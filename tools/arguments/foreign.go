package arguments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/millhand/millhand/internal/text/schema"
)

// Foreign is the schema that a program gives for the arguments of its own tool.
type Foreign struct {
	Offered  map[string]any // to models: in the form that all providers accept
	own      map[string]any
	names    *renames       // of the properties
	compiled *schema.Schema // nil: arguments are not checked
}

// Read returns the JSON Schema of an object; without a text, of one without properties.
func Read(text json.RawMessage) (*Foreign, error) {
	own, err := objectSchema(text)
	if err != nil {
		return nil, err
	}
	f := newForeign(own)
	f.compiled, err = schema.Compile(own)
	return f, err
}

// Unknown returns the schema of any arguments.
func Unknown() *Foreign {
	return newForeign(map[string]any{"type": "object", "properties": map[string]any{}})
}

func newForeign(own map[string]any) *Foreign {
	f := &Foreign{own: own}
	f.Offered, f.names = renameProperties(offeredSchema(own))
	return f
}

// Decode returns the arguments of a call as a JSON object with the names and defaults of the program. Invalid ones are
// an error, unless the program checks them itself.
func (f *Foreign) Decode(input json.RawMessage, checksItself bool) (json.RawMessage, error) {
	value, err := parse(input)
	if err != nil {
		return nil, err
	}
	value = f.names.restore(coerce(value, f.Offered))
	if f.compiled != nil {
		value = complete(value, f.own)
		if err := f.compiled.Validate(value); err != nil && !checksItself {
			return nil, argumentError(err)
		}
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	return plain, nil
}

// objectSchema reads a JSON Schema of an object.
func objectSchema(text json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}, nil
	}
	value, err := parse(text)
	if err != nil {
		return nil, err
	}
	schema, _ := value.(map[string]any)
	if kind, ok := schema["type"]; ok && kind != "object" {
		return nil, fmt.Errorf("type is %v, but tool arguments must be an object", kind)
	}
	schema = maps.Clone(schema)
	schema["type"] = "object"
	if schema["properties"] == nil {
		schema["properties"] = map[string]any{}
	}
	return schema, nil
}
