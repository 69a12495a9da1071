package schema

import (
	"fmt"
	"strings"
	"testing"
)

type hostileCase struct{ name, schema, doc, want string }

// hostile returns schemas and documents that need too much time or space, and what is
// reported instead.
func hostile() []hostileCase {
	doubled := func(n int) string {
		var defs []string
		for i := range n {
			defs = append(defs, fmt.Sprintf(`"d%d": {"anyOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i, i+1, i+1))
		}
		return fmt.Sprintf(`{"$defs": {%s, "d%d": {"type": "string"}}, "$ref": "#/$defs/d0"}`, strings.Join(defs, ", "), n)
	}
	nested := func(n int, open, inner, end string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	chain := func(n int) string {
		var defs []string
		for i := range n {
			defs = append(defs, fmt.Sprintf(`"d%d": {"$ref": "#/$defs/d%d"}`, i, i+1))
		}
		return fmt.Sprintf(`{"$defs": {%s, "d%d": {}}, "$ref": "#/$defs/d0"}`, strings.Join(defs, ", "), n)
	}
	const endless, work, deep = "refers to itself without end", "too much work", "nested too deeply"
	return []hostileCase{
		{"itself", `{"$ref": "#"}`, `1`, endless},
		{"two", `{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}`, `1`, endless},
		{"unused", `{"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}`, `1`, ""},
		{"combined", `{"allOf": [{"anyOf": [{"if": {}, "then": {"oneOf": [{"dependentSchemas": {"x": {"$ref": "#"}}}]}}]}]}`, `1`, endless},
		{"in an unknown keyword", `{"x": {"$ref": "#/x"}, "allOf": [{"$ref": "#/x"}]}`, `1`, endless},
		{"dynamic", `{"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]}`, `1`, work},
		{"recursive", `{"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true, "allOf": [{"$recursiveRef": "#"}]}`, `1`, work},
		{"recursive without an anchor", `{"$schema": "https://json-schema.org/draft/2019-09/schema", "allOf": [{"$recursiveRef": "#"}]}`, `1`, endless},
		{"deep schema", nested(10_000, `{"not": `, "{}", "}"), `1`, "exceeded max depth"},
		{"deeper than allowed", nested(900, `{"not": `, "{}", "}"), `1`, deep},
		{"deep document", `{"items": {"$ref": "#"}}`, nested(9_000, "[", "", "]"), deep},
		{"many references", chain(20_000), `1`, deep},
		{"exponential references", doubled(40), `1`, work},
		{"exponential items", `{"anyOf": [{"items": {"$ref": "#"}, "minItems": 9}, {"items": {"$ref": "#"}, "minItems": 8}]}`, nested(60, "[", "", "]"), work},
		{"exponential evaluations", `{"unevaluatedItems": false, "anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}`, nested(60, "[", "", "]"), work},
		{"large expression", `{"pattern": "` + strings.Repeat(`(x{10}){10}`, 5_000) + `"}`, `"x"`, "regular expression"},
		{"many expressions", `{"allOf": [` + strings.Repeat(`{"pattern": "\\pL{1000}"}, `, 1_000) + `{}]}`, `"x"`, "regular expressions too large"},
		{"slow expression", `{"pattern": "(x?){500}y(x*x*x*){300}$"}`, `"` + strings.Repeat("x", 1<<20) + `"`, work},
		{"equal items", `{"items": {"uniqueItems": true}}`, "[" + strings.Repeat("["+strings.Repeat("[[[]]],", 500)+"1],", 400) + "0]", "are equal"},
		{"large values in each level", `{"enum": [1], "$ref": "#/$defs/a", "$defs": {"a": {"not": {"enum": [2]}, "items": {"$ref": "#/$defs/a"}}}}`, nested(9_000, "[", "1", "]"), "value must be 1"},
		{"large exponent", `{"multipleOf": 0.01, "maximum": 1e999999999, "minimum": -1e99999999999999999999}`, `1e9999999`, ""},
		{"large exponents", `{"multipleOf": 3}`, `1e9999999`, "multipleOf"},
		{"large number", `{"multipleOf": 3}`, strings.Repeat("7", 1<<20), work},
		{"many faults", `{"items": {"type": "string"}}`, "[" + strings.Repeat("1,", 100_000) + "1]", "at /99: got number, want string"},
	}
}

func TestHostileSchemas(t *testing.T) {
	for _, c := range hostile() {
		t.Run(c.name, func(t *testing.T) {
			if err := verdict(t, c.schema, c.doc); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%.300v, want %q", err, c.want)
			}
		})
	}
}

// verdict returns the error of a schema or of a document.
func verdict(t *testing.T, schema, doc string) error {
	t.Helper()
	raw, err := Parse(schema)
	if err != nil {
		return err
	}
	s, err := Compile(raw.(map[string]any))
	if err != nil {
		return err
	}
	v, err := Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}
