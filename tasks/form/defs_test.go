package form

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// A mapping that several keys have is written once, with the mappings in it, and each key has its own description and default.
func TestAMappingIsDefinedOnce(t *testing.T) {
	const (
		inner = `"inner": {"description": "An inner one", "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}`
		outer = `"type": "object", "properties": {"size": {"type": "integer"}, ` + inner + `}, "additionalProperties": false`
	)
	doc := parsed(t, `{"properties": {
		"y": {"description": "One", "default": {"size": 1}, `+outer+`},
		"z": {"type": "array", "items": {"anyOf": [{`+outer+`}, {"type": "string"}]}},
		"map": {"type": "object", "additionalProperties": {`+outer+`}},
		"alone": {"type": "object", "properties": {"a": {"type": "string"}}},
		"again": {"type": "object", "properties": {"a": {"type": "string"}}},
		`+inner+`
	}}`)
	define(doc)
	want := parsed(t, `{"properties": {
		"y": {"description": "One", "default": {"size": 1}, "$ref": "#/$defs/map.NAME"},
		"z": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/map.NAME"}, {"type": "string"}]}},
		"map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/map.NAME"}},
		"alone": {"type": "object", "properties": {"a": {"type": "string"}}},
		"again": {"type": "object", "properties": {"a": {"type": "string"}}},
		"inner": {"description": "An inner one", "$ref": "#/$defs/inner"}
	}, "$defs": {
		"map.NAME": {"type": "object", "properties": {"size": {"type": "integer"}, "inner": {"description": "An inner one", "$ref": "#/$defs/inner"}}, "additionalProperties": false},
		"inner": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
	}}`)
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Error(diff)
	}
}

// Two mappings at one path, as a mapping and the entries of a list are, have two names.
func TestDefinitionsHaveTheirOwnNames(t *testing.T) {
	const one, other = `{"properties": {"a": {}, "b": {}}}`, `{"properties": {"c": {}, "d": {}}}`
	doc := parsed(t, `{"properties": {"x": {"anyOf": [`+one+`, {"items": `+other+`}]}, "y": {"anyOf": [`+one+`, {"items": `+other+`}]}}}`)
	define(doc)
	either := `{"anyOf": [{"$ref": "#/$defs/x"}, {"items": {"$ref": "#/$defs/x-2"}}]}`
	if diff := cmp.Diff(parsed(t, `{"properties": {"x": `+either+`, "y": `+either+`}, "$defs": {"x": `+one+`, "x-2": `+other+`}}`), doc); diff != "" {
		t.Error(diff)
	}
}
