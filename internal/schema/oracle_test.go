package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/millhand/millhand/internal/nightly"
)

// oracle returns the verdict of another implementation.
func oracle(schema, doc any) (compileErr, err error) {
	c := jsonschema.NewCompiler()
	if err := c.AddResource(address, schema); err != nil {
		return err, nil
	}
	compiled, err := c.Compile(address)
	if err != nil {
		return err, nil
	}
	return nil, compiled.Validate(doc)
}

// large matches numbers that are too large for the oracle.
var large = regexp.MustCompile(`[eE][+-]?\d{3}`)

// agree checks that both implementations have the same verdict.
func agree(t *testing.T, schemaText, docText string, generated bool) (valid, compiled bool) {
	t.Helper()
	doc, err := Parse(docText)
	if err != nil {
		return false, false
	}
	raw, err := Parse(schemaText)
	m, ok := raw.(map[string]any)
	if err != nil || !ok {
		return false, false
	}
	s, compileErr := Compile(m)
	if compileErr != nil {
		if otherErr, _ := oracle(raw, doc); generated && otherErr == nil && !strings.Contains(compileErr.Error(), "without end") && !strings.Contains(compileErr.Error(), "not found") {
			t.Errorf("%s: %v, but the oracle compiled it", schemaText, compileErr)
		}
		return false, false
	}
	r := run{steps: 10_000} // for more the oracle may need too much time
	found, _ := r.check(s.root, doc, nil, nil, false)
	draft7Const := strings.Contains(schemaText, "draft-0") && strings.Contains(schemaText, "const") // it has an effect beside $ref there
	if r.exceeded != "" || large.MatchString(schemaText+docText) || strings.Contains(schemaText, "format") || strings.Contains(schemaText, "$recursive") || draft7Const && !generated {
		return found == nil, true // the oracle differs
	}
	otherErr, other := oracle(raw, doc)
	var invalid *jsonschema.SchemaValidationError
	switch {
	case errors.As(otherErr, &invalid):
		if !forgiven(invalid) {
			t.Errorf("%s: compiled, but the oracle found: %v", schemaText, otherErr)
		}
		return false, false
	case otherErr != nil:
		return false, false
	}
	if (other == nil) != (found == nil) {
		t.Errorf("%s: %s: got %v, the oracle %v", schemaText, docText, s.Validate(doc), other)
	}
	return found == nil, true
}

// forgiven reports whether a schema has only faults that are accepted here, as they
// have no effect on verdicts.
func forgiven(err *jsonschema.SchemaValidationError) bool {
	text := err.Error()
	return slices.ContainsFunc([]string{"is not valid", "does not match pattern", "are equal", "got 0, want 1"}, func(s string) bool { return strings.Contains(text, s) })
}

// generator makes random schemas and documents that resemble each other.
type generator struct{ *rand.Rand }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) name() string { return g.one("a", "b", "ab", "c") }

func (g generator) doc(depth int) string {
	n := g.IntN(12)
	if depth == 0 {
		n = g.IntN(9)
	}
	switch n {
	case 0:
		return g.one("null", "true", "false")
	case 1, 2:
		return g.one(`"a"`, `"ab"`, `"abc"`, `""`, `"é"`)
	case 3, 4, 5, 6, 7, 8:
		return g.one("0", "1", "2", "-1", "1.0", "1.5", "0.3", "3", "1e2", "100", "19.99", "9007199254740993", "12345678901234567890")
	case 9:
		return "[" + g.join(g.IntN(4), func() string { return g.doc(depth - 1) }) + "]"
	}
	return "{" + g.join(g.IntN(4), func() string { return fmt.Sprintf("%q: %s", g.name(), g.doc(depth-1)) }) + "}"
}

func (g generator) join(n int, item func() string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = item()
	}
	return strings.Join(all, ", ")
}

func (g generator) schema(depth int) string {
	if depth == 0 || g.IntN(12) == 0 {
		return g.one("{}", "true", "false", `{"type": "integer"}`, `{"type": ["string", "null"]}`, `{"type": "object"}`, `{"$ref": "#/$defs/d"}`, `{"$ref": "#d"}`, `{"$ref": "#/definitions/e"}`)
	}
	seen := map[string]bool{}
	return "{" + g.join(1+g.IntN(4), func() string {
		for {
			text := g.keyword(depth - 1)
			key, _, _ := strings.Cut(text, ":")
			if oracleWrong := seen[`"$ref"`] && key == `"const"` || seen[`"const"`] && key == `"$ref"`; !seen[key] && !oracleWrong {
				seen[key] = true
				return text
			}
		}
	}) + "}"
}

func (g generator) keyword(depth int) string {
	sub := func() string { return g.schema(depth) }
	named := func() string {
		return "{" + g.join(1+g.IntN(2), func() string { return fmt.Sprintf("%q: %s", g.name(), sub()) }) + "}"
	}
	list := func() string { return "[" + g.join(1+g.IntN(3), sub) + "]" }
	switch g.IntN(18) {
	case 0:
		return `"type": ` + g.one(`"object"`, `"array"`, `"number"`, `"integer"`, `"string"`, `["array", "object"]`, `["integer", "string"]`)
	case 1:
		return fmt.Sprintf(`"enum": [%s, %s]`, g.doc(1), g.doc(1))
	case 2:
		return `"const": ` + g.doc(1)
	case 3, 4:
		return fmt.Sprintf("%q: %s", g.one("properties", "properties", "dependentSchemas", "$defs"), named())
	case 5:
		return fmt.Sprintf("%q: %s", g.one("additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems"), sub())
	case 6:
		return fmt.Sprintf(`"patternProperties": {%q: %s}`, g.one("a", "^a$", "b"), sub())
	case 7:
		return fmt.Sprintf("%q: %s", g.one("items", "contains", "not", "propertyNames"), sub())
	case 8:
		return fmt.Sprintf("%q: %s", g.one("prefixItems", "allOf", "anyOf", "oneOf", "items"), list())
	case 9:
		return fmt.Sprintf("%q: %s", g.one("allOf", "anyOf", "oneOf"), list())
	case 10:
		return fmt.Sprintf("%q: %s", g.one("if", "then", "else"), sub())
	case 11:
		return fmt.Sprintf(`"if": %s, "then": %s, "else": %s`, sub(), sub(), sub())
	case 12:
		return fmt.Sprintf("%q: %s", g.one("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), g.one("0", "1", "1.5", "9007199254740992", "true"))
	case 13:
		return `"multipleOf": ` + g.one("1", "2", "0.1", "0.01", "1.5")
	case 14:
		return fmt.Sprintf("%q: %s", g.one("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"), g.one("0", "1", "2", "2.0"))
	case 15:
		return g.one(`"required": ["a"]`, `"required": ["a", "b"]`, `"dependentRequired": {"a": ["b"]}`, `"dependencies": {"a": ["b"], "b": {"minProperties": 2}}`)
	case 16:
		return g.one(`"pattern": "^a"`, `"pattern": "b|c"`, `"uniqueItems": true`, `"type": "text"`, `"required": true`, `"items": 5`)
	}
	return fmt.Sprintf(`"$ref": %q`, g.one("#/$defs/d", "#d", "#/definitions/e", "#"))
}

func TestRandomSchemas(t *testing.T) {
	g := generator{nightly.Random(t)}
	valid, compiled := 0, 0
	for range nightly.Count(1_000, 10_000, 200_000) {
		draft := g.one("draft-04/schema#", "draft-06/schema#", "draft-07/schema#", "draft/2019-09/schema", "draft/2020-12/schema")
		doc := g.doc(3)
		schema := strings.Replace(g.schema(4), "{", fmt.Sprintf(`{"$schema": "https://json-schema.org/%s", "$defs": {"d": %s, "f": {"$anchor": "d", "maxLength": 1}}, "definitions": {"e": %s}, `, draft, g.one(`{"type": "integer"}`, `{"type": ["string", "null"]}`, `{"$ref": "#/definitions/e"}`), g.schema(2)), 1)
		if !json.Valid([]byte(schema)) {
			continue // it is a boolean or empty
		}
		ok, good := agree(t, schema, doc, true)
		if ok {
			valid++
		}
		if good {
			compiled++
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d compiled, %d valid", compiled, valid)
	if compiled < 200 || valid < 50 {
		t.Error("the generator makes too few useful cases")
	}
}

func FuzzSchemas(f *testing.F) {
	for _, c := range hostile() {
		f.Add(c.schema, c.doc)
	}
	f.Add(`{"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"], "additionalProperties": false}`, `{"a": 2, "b": null}`)
	f.Add(`{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "definitions": {"a": {"items": [{"const": 1}], "additionalItems": false}}}`, `[1, 2]`)
	f.Add(`{"$dynamicAnchor": "n", "properties": {"a": {"$dynamicRef": "#n"}}, "unevaluatedProperties": false, "if": {"required": ["a"]}, "then": {"minProperties": 1}}`, `{"a": {"b": 1}}`)
	f.Fuzz(func(t *testing.T, schema, doc string) {
		if len(schema)+len(doc) < 20_000 {
			agree(t, schema, doc, false)
		}
	})
}
