package arguments_test

import (
	"encoding/json"
	"testing"

	"github.com/millhand/millhand/internal/testing/tooltest"
	"github.com/millhand/millhand/tools"
	"github.com/millhand/millhand/tools/arguments"
	"github.com/millhand/millhand/tools/command"

	"github.com/google/go-cmp/cmp"
)

func TestOfferedSchema(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"what is plain stays", `{"type": "string", "description": "d", "enum": ["a"]}`, `{"type": "string", "description": "d", "enum": ["a"]}`},
		{"what is special goes", `{"type": "string", "format": "uri", "pattern": "^x", "$comment": "c", "title": "t", "minLength": 1}`, `{"type": "string", "minLength": 1}`},
		{"a default is described", `{"type": "integer", "default": 3, "description": "how many"}`, `{"type": "integer", "description": "how many (default 3)"}`},
		{"a constant", `{"const": "a"}`, `{"type": "string", "enum": ["a"]}`},
		{"a union with null", `{"type": ["string", "null"]}`, `{"type": "string"}`},
		{"a union of types", `{"type": ["string", "integer"]}`, `{}`},
		{"a choice with null", `{"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}], "description": "d"}`, `{"type": "integer", "minimum": 0, "description": "d"}`},
		{"a choice of one type", `{"oneOf": [{"const": "a", "type": "string"}, {"type": "string", "format": "uri"}]}`, `{"type": "string"}`},
		{"a choice of types", `{"oneOf": [{"type": "string"}, {"type": "integer"}]}`, `{}`},
		{"items", `{"type": "array", "items": {"type": ["string", "null"], "format": "x"}}`, `{"type": "array", "items": {"type": "string"}}`},
		{"patterns of properties", `{"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}`, `{"type": "object"}`},
		{
			"an object", `{"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "integer", "default": 1}, "c": {}}, "required": ["a", "b", "c"], "additionalProperties": false}`,
			`{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer", "description": "(default 1)"}, "c": {}}, "required": ["c"], "additionalProperties": false}`,
		},
		{"a reference", `{"$ref": "#/$defs/name", "description": "d"}`, `{"type": "string", "description": "d"}`},
		{"an enumeration with null", `{"enum": ["a", null]}`, `{"type": "string", "enum": ["a"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			schema, err := arguments.Offered(json.RawMessage(`{"$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"name": {"type": "string", "format": "x"}}, "properties": {"x": ` + tt.schema + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			var plain, want any
			if err := json.Unmarshal(got, &plain); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(`{"type": "object", "properties": {"x": `+tt.want+`}}`), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, plain); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Providers refuse unions at the top; their properties are offered together.
func TestOfferedUnionsAtTheTop(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type": "object", "oneOf": [{"properties": {"a": {"type": "string"}, "k": {"const": "a"}}, "required": ["k", "a"]}, {"properties": {"a": {"type": "number"}, "k": {"const": "b"}}, "required": ["k"]}]}`: `{"properties":{"a":{},"k":{"type":"string"}},"required":["k"],"type":"object"}`,
		`{"properties": {"a": {"type": "integer"}}, "required": ["a"], "anyOf": [{"properties": {"a": {"minimum": 1}}}, {"required": [{}, "a"]}, {"required": [{}]}]}`:                                             `{"properties":{"a":{"type":"integer"}},"required":["a"],"type":"object"}`,
		`{"$defs": {"x": {"properties": {"x": {"type": "string"}}, "required": ["x"]}}, "allOf": [{"$ref": "#/$defs/x"}, {"properties": {"y": {}}}, 5], "additionalProperties": false}`:                            `{"properties":{"x":{"type":"string"},"y":{}},"required":["x"],"type":"object"}`,
		`{"anyOf": [{"$ref": "#"}, {"type": "object"}]}`: `{"properties":{},"type":"object"}`,
	} {
		full, err := arguments.Offered(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(full); err != nil || string(got) != want {
			t.Errorf("%s is offered as %s (%v), want %s", schema, got, err, want)
		}
	}
}

func TestOfferedRecursiveSchema(t *testing.T) {
	for _, text := range []string{`{"properties": {"x": {"$ref": "#"}}}`, `{"properties": {"x": {"$ref": "#/properties/x"}}}`, `{"properties": {"x": {"$ref": "#/nowhere/at/all"}}}`, `{"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"$ref": "#"}}}`} {
		schema, err := arguments.Offered(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		if data, err := json.Marshal(schema); err != nil || len(data) > 1000 {
			t.Errorf("%s becomes %s, %v", text, data, err)
		}
	}
}

func TestACustomToolGetsDefaults(t *testing.T) {
	s := tooltest.SetUp(t, "readonly", nil)
	s.WithCustom(command.Custom{Command: tooltest.Script("cat"), Schema: json.RawMessage(`{
		"properties": {
			"n": {"type": "integer", "default": 3}, "who": {"type": ["string", "null"]}, "when": {"type": "string", "pattern": "^[0-9]+$"},
			"o": {"type": "object", "properties": {"deep": {"type": "boolean", "default": true}}}
		},
		"required": ["n", "who"]
	}`)})
	for in, want := range map[string]string{
		`{}`:                      `{"n":3,"who":null}`,
		`{"n": 1, "o": {}}`:       `{"n":1,"o":{"deep":true},"who":null}`,
		`{"n": "2", "who": "me"}`: `{"n":2,"who":"me"}`,
		`{"n": 0, "when": "12"}`:  `{"n":0,"when":"12","who":null}`,
	} {
		if out := s.Raw("deploy", in); out.Output != want {
			t.Errorf("%s: %s", in, out.Text())
		}
	}
	s.Want(s.Raw("deploy", `{"when": "noon"}`), tools.Failed, "when: ")
}
