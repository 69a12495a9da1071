package schema

import (
	"errors"
	"strings"
	"testing"
)

func TestFaultsOfADocument(t *testing.T) {
	s, err := Compile(map[string]any{"type": "object", "required": []string{"a"}, "properties": map[string]any{"n": map[string]any{"type": "integer", "maximum": int64(3)}}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"a": 1, "n": 3}`: "",
		`{"a": 1, "n": 4}`: "at /n: maximum: got 4, want 3",
		`{"n": "x"}`:       "at /n: got string, want integer",
	} {
		doc, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Validate(doc)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse("{} {}"); err == nil {
		t.Error("two documents were parsed as one")
	}
}

func TestKindsOfFaults(t *testing.T) {
	for _, c := range []struct{ schema, doc, want string }{
		{`{"properties": {"a": {"items": {"type": ["string", "null"]}}}}`, `{"a": ["x", 1, null, {}]}`, "at /a/1: got number, want null or string; at /a/3: got object, want null or string"},
		{`{"required": ["a", "b"]}`, `{}`, "at /: missing properties 'a', 'b'"},
		{`{"additionalProperties": false}`, `{"it's": 1, "b": 2}`, `at /: additional properties 'b', 'it\'s' not allowed`},
		{`{"enum": ["a", 1, null, [true]]}`, `"b"`, `at /: value must be one of 'a', 1, null, [true]`},
		{`{"const": {"a": 1}}`, `{"a": 2}`, `at /: value must be {"a":1}`},
		{`{"exclusiveMinimum": 1000, "multipleOf": 0.01}`, `999.999`, "at /: exclusiveMinimum: got 999.999, want 1000; at /: multipleOf: got 999.999, want 0.01"},
		{`{"maxLength": 2, "pattern": "^a"}`, `"bcd"`, "at /: 'bcd' does not match pattern '^a'; at /: maxLength: got 3, want 2"},
		{`{"uniqueItems": true, "minItems": 4}`, `[1, {"a": [2]}, {"a": [2.0]}]`, "at /: items at 1 and 2 are equal; at /: minItems: got 3, want 4"},
		{`{"contains": {"type": "string"}}`, `[1]`, "at /: no items match contains schema"},
		{`{"prefixItems": [true], "items": false}`, `[1, 2, 3]`, "at /1: false schema; at /2: false schema"},
		{`{"anyOf": [{"type": "string"}, {"properties": {"a": {"type": "string"}}}]}`, `{"a": 1}`, "at /: got object, want string; at /a: got number, want string"},
		{`{"oneOf": [{"type": "string"}, {"minimum": 3}]}`, `1`, "at /: got number, want string; at /: minimum: got 1, want 3"},
		{`{"oneOf": [{"type": "integer"}, {"minimum": 3}]}`, `4`, "at /: 'oneOf' failed, subschemas 0, 1 matched"},
		{`{"not": {"type": "integer"}}`, `4.0`, "at /: 'not' failed"},
		{`{"propertyNames": {"maxLength": 1}}`, `{"ab": 1}`, "at /: invalid property name 'ab': maxLength: got 2, want 1"},
		{`{"dependentRequired": {"a": ["b"]}}`, `{"a": 1}`, "at /: properties 'b' required, if 'a' exists"},
		{`{"unevaluatedProperties": false, "properties": {"a": true}}`, `{"a": 1, "b": 2}`, "at /b: false schema"},
		{`{"format": "email", "$defs": {"unused": {"$ref": "#/nowhere"}}}`, `"x"`, ""},
		{`{"Type": "string", "MINIMUM": 3}`, `1`, ""},
		{`{"properties": {"a": {"const": 1}}}`, `{"a": 2, "a": 1}`, ""},
	} {
		if err := verdict(t, c.schema, c.doc); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %s: got %v, want %q", c.schema, c.doc, err, c.want)
		}
	}
}

func TestDrafts(t *testing.T) {
	const draft4, draft6, draft7, draft2019 = `"$schema": "http://json-schema.org/draft-04/schema#"`, `"$schema": "http://json-schema.org/draft-06/schema"`, `"$schema": "http://json-schema.org/draft-07/schema#"`, `"$schema": "https://json-schema.org/draft/2019-09/schema"`
	for _, c := range []struct{ schema, doc, want string }{
		{draft4 + `, "minimum": 3, "exclusiveMinimum": true`, `3`, "exclusiveMinimum: got 3, want 3"},
		{draft4 + `, "minimum": 3, "exclusiveMinimum": false`, `3`, ""},
		{draft4 + `, "properties": {"a": {}}, "additionalProperties": false`, `{"b": 1}`, "additional properties 'b'"},
		{draft4 + `, "items": [{}], "additionalItems": false`, `[1, 2]`, "last 1 items not allowed"},
		{draft4 + `, "id": "http://h/a", "properties": {"b": {"$ref": "a#/properties/c"}, "c": {"type": "string"}}`, `{"b": 1}`, "at /b: got number"},
		{draft4 + `, "properties": {"a": false}`, `1`, "at /properties/a: got boolean, want object"},
		{draft4 + `, "const": 1`, `2`, ""},
		{draft6 + `, "exclusiveMinimum": 3, "const": 3`, `3`, "exclusiveMinimum"},
		{draft6 + `, "if": true, "then": false`, `3`, ""},
		{draft6 + `, "exclusiveMinimum": true`, `3`, "at /exclusiveMinimum: got boolean, want number"},
		{draft7 + `, "if": true, "then": false`, `3`, "false schema"},
		{draft7 + `, "$ref": "#/definitions/a", "type": "string", "definitions": {"a": {"type": "integer"}}`, `3`, ""},
		{draft7 + `, "definitions": {"a": {"$id": "#x", "type": "string"}}, "allOf": [{"$ref": "#x"}]`, `3`, "got number"},
		{draft2019 + `, "$ref": "#/$defs/a", "type": "string", "$defs": {"a": {}}`, `3`, "got number"},
		{draft2019 + `, "items": [{"type": "string"}], "unevaluatedItems": false`, `["a", 1]`, "at /1: false schema"},
		{draft2019 + `, "$recursiveAnchor": true, "items": {"$recursiveRef": "#"}, "type": "array"`, `[[], 1]`, "at /1: got number, want array"},
		{`"items": [{"type": "string"}]`, `[]`, "at /items: got array, want boolean or object"},
		{`"$schema": "https://json-schema.org/draft/2020-12/schema#", "prefixItems": [{"type": "string"}]`, `[1]`, "at /0: got number"},
		{`"$schema": "http://json-schema.org/draft-03/schema#"`, `1`, "draft 'http://json-schema.org/draft-03/schema#' is not supported"},
	} {
		if err := verdict(t, "{"+c.schema+"}", c.doc); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %s: got %v, want %q", c.schema, c.doc, err, c.want)
		}
	}
}

func TestInvalidSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties": {"a": {"type": "text"}}}`:                   "at /properties/a/type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'",
		`{"type": ["string", "txt"]}`:                               "at /type/1: value must be one of",
		`{"type": []}`:                                              "at /type: minItems: got 0, want 1",
		`{"type": null}`:                                            "at /type: got null, want string or array",
		`{"required": "a"}`:                                         "at /required: got string, want array",
		`{"required": ["a", 5]}`:                                    "at /required/1: got number, want string",
		`{"required": ["a", "a"]}`:                                  "at /required: items at 0 and 1 are equal",
		`{"allOf": [{"minLength": -1}, {"maxItems": 1.5}, 3]}`:      "at /allOf/0/minLength: minimum: got -1, want 0; at /allOf/1/maxItems: got number, want integer; at /allOf/2: got number, want boolean or object",
		`{"anyOf": []}`:                                             "at /anyOf: minItems: got 0, want 1",
		`{"oneOf": {}}`:                                             "at /oneOf: got object, want array",
		`{"multipleOf": 0}`:                                         "at /multipleOf: exclusiveMinimum: got 0, want 0",
		`{"minimum": "3"}`:                                          "at /minimum: got string, want number",
		`{"enum": 3}`:                                               "at /enum: got number, want array",
		`{"pattern": "("}`:                                          "at /pattern: '(' is not valid regex: error parsing regexp: missing closing ): `(`",
		`{"patternProperties": {"a(": true}}`:                       "at /patternProperties/a(: 'a(' is not valid regex",
		`{"title": 3, "uniqueItems": "yes"}`:                        "at /title: got number, want string; at /uniqueItems: got string, want boolean",
		`{"dependentRequired": {"a": "b"}}`:                         "at /dependentRequired/a: got string, want array",
		`{"items": {"$ref": "#/$defs/a/b~1c"}}`:                     "at /items/$ref: '#/$defs/a/b~1c' not found",
		`{"$ref": "#a"}`:                                            "at /$ref: '#a' not found",
		`{"$ref": "other.json"}`:                                    "at /$ref: reference to another document, 'other.json': nothing is read from elsewhere",
		`{"$ref": "http://h/%zz"}`:                                  "at /$ref: 'http://h/%zz' is not valid uri-reference",
		`{"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}}`:         "at /$defs/b: duplicate $id 'x'",
		`{"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}`: "at /$defs/b: duplicate anchor 'x'",
		`{"$id": "http://h/a#b"}`:                                   "at /$id: must not have a fragment",
	} {
		var faults Faults
		if err := verdict(t, schema, "1"); !errors.As(err, &faults) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), address) {
			t.Errorf("%s: got %v, want %q", schema, err, want)
		}
	}
}

func TestFaultsOfASchema(t *testing.T) {
	_, err := Compile(map[string]any{"properties": map[string]any{"a": map[string]any{"type": "text"}}})
	var faults Faults
	if !errors.As(err, &faults) || strings.Join(faults[0].At, " ") != "properties a type" {
		t.Errorf("%v", err)
	}
	_, err = Compile(map[string]any{"$ref": "file:///etc/passwd"})
	if err == nil || !strings.Contains(err.Error(), "nothing is read from elsewhere") || strings.Contains(err.Error(), address) {
		t.Errorf("%v", err)
	}
}
