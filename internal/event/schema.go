package event

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// Schema returns the JSON Schema (draft 2020-12) of a line of events.jsonl, made from the
// type [Event]. Like consumers, it accepts types of events and fields that it does not know,
// and payloads of earlier releases, which lack fields.
func Schema() map[string]any {
	defs := map[string]any{}
	doc := structSchema(reflect.TypeFor[Event](), defs)
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["$id"] = "urn:millhand:events:1"
	doc["title"] = "millhand events"
	doc["description"] = "A line of events.jsonl. The type determines the one payload field that is set. Later releases may add types and fields and keep the existing ones."
	types := []any{}
	for _, t := range Types() {
		types = append(types, string(t.Type))
	}
	doc["properties"].(map[string]any)["type"] = map[string]any{"type": "string", "anyOf": []any{map[string]any{"enum": types}, map[string]any{"type": "string"}}}
	doc["required"] = []any{"seq", "time", "type"}
	doc["$defs"] = defs
	return doc
}

// typeSchema describes the JSON of a Go type. Structs are definitions.
func typeSchema(t reflect.Type, defs map[string]any) map[string]any {
	switch t {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case reflect.TypeFor[money.USD]():
		return map[string]any{"type": "number"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem(), defs)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": typeSchema(t.Elem(), defs)}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typeSchema(t.Elem(), defs)}
	case reflect.Struct:
		name := t.Name()
		if name == "" {
			return structSchema(t, defs)
		}
		if defs[name] == nil {
			defs[name] = map[string]any{} // a type may contain itself
			defs[name] = structSchema(t, defs)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	default:
		return map[string]any{"type": "integer"}
	}
}

func structSchema(t reflect.Type, defs map[string]any) map[string]any {
	properties := map[string]any{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		one := typeSchema(f.Type, defs)
		nillable := slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, f.Type.Kind())
		if nillable && !strings.Contains(options, "omit") {
			one = map[string]any{"anyOf": []any{one, map[string]any{"type": "null"}}}
		}
		properties[name] = one
	}
	return map[string]any{"type": "object", "properties": properties}
}
