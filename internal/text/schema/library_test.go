package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// library returns the error of the library alone, and what it panicked with.
func library(t *testing.T, schema string, doc any) (panicked any, err error) {
	t.Helper()
	raw, err := Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(address, raw); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { panicked = recover() }()
	return nil, s.Validate(doc)
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	doc, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestLibraryPanics has the reasons for maxExponent. When it fails, the library is fixed, and the
// limit can go.
func TestLibraryPanics(t *testing.T) {
	for _, c := range []struct{ schema, doc string }{
		{`{"multipleOf": 3}`, `1e9999999`},
		{`{"maximum": 3}`, `1e9999999`},
		{`{"uniqueItems": true}`, "[" + strings.Repeat("1e9999999,", 30) + "1]"},
	} {
		if panicked, _ := library(t, c.schema, parsed(t, c.doc)); panicked == nil {
			t.Errorf("the library checks %s", c.schema)
		}
		if err := verdict(t, c.schema, c.doc); err == nil || strings.Contains(err.Error(), "failed") {
			t.Errorf("%s: got %v", c.schema, err)
		}
	}
}

// TestLibraryTruncatesLengths has the reason for isCount.
func TestLibraryTruncatesLengths(t *testing.T) {
	for _, c := range []string{`{"maxLength": 18446744073709551615}`, `{"maxLength": 18446744073709551616}`, `{"maxLength": 1e30}`} {
		if err := verdict(t, c, `"text"`); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	if _, err := library(t, `{"maxLength": 18446744073709551615}`, "text"); err == nil {
		t.Error("the library does not truncate lengths")
	}
}

// Lengths in values are data: only those of keywords are limited, wherever a schema is.
func TestLengthsInValues(t *testing.T) {
	const long = `{"maxLength": 99999999999}`
	for _, schema := range []string{
		`{"const": {"maxLength": 3}}`, `{"enum": [3, {"maxLength": 3}]}`,
		`{"const": ` + long + `}`, `{"enum": [3, ` + long + `]}`, `{"enum": [{"properties": ` + long + `}, ` + long + `]}`,
		`{"properties": {"maxLength": {"const": 99999999999}}}`, `{"allOf": [{"const": ` + long + `}]}`,
		`{"default": ` + long + `, "examples": [` + long + `], "const": ` + long + `}`,
	} {
		doc := long
		if strings.Contains(schema, "3}") {
			doc = `{"maxLength": 3}`
		}
		if err := verdict(t, schema, doc); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
		if err := verdict(t, schema, `{"maxLength": 2147483647}`); err == nil {
			t.Errorf("%s accepts another number", schema)
		}
	}
	const longest = `{"maxLength": 18446744073709551615}`
	for _, schema := range []string{
		`{"properties": {"const": ` + longest + `, "default": ` + longest + `, "properties": ` + longest + `}}`,
		`{"$defs": {"enum": ` + longest + `}, "$ref": "#/$defs/enum"}`, `{"dependentSchemas": {"const": ` + longest + `}, "patternProperties": {"const": ` + longest + `}}`,
		`{"other": ` + longest + `, "$ref": "#/other"}`,
	} {
		for _, doc := range []string{`{"const": "text", "default": "text", "properties": "text"}`, `"text"`} {
			if err := verdict(t, schema, doc); err != nil {
				t.Errorf("%s, %s: %v", schema, doc, err)
			}
		}
	}
}

// equalHashes returns a list of different items whose hashes are equal in the library: all trees with n arrays.
func equalHashes(n int) []any {
	var forests func(n int) [][]any
	forests = func(n int) [][]any {
		if n == 0 {
			return [][]any{{}}
		}
		var all [][]any
		for first := range n {
			for _, inner := range forests(first) {
				for _, rest := range forests(n - 1 - first) {
					all = append(all, append([]any{inner}, rest...))
				}
			}
		}
		return all
	}
	var all []any
	for _, forest := range forests(n) {
		all = append(all, append([]any{1}, forest...)) // comparing numbers allocates
	}
	return all
}

// TestLibraryComparesAllPairs has the reason for the type unique and for maxStructured.
func TestLibraryComparesAllPairs(t *testing.T) {
	items := equalHashes(6)
	n := len(items)
	allocs := testing.AllocsPerRun(1, func() {
		if _, err := library(t, `{"uniqueItems": true}`, items); err != nil {
			t.Error(err)
		}
	})
	if allocs < float64(n*n/2) {
		t.Errorf("%d items need %.0f allocations: the library does not compare all pairs", n, allocs)
	}
	s, err := Compile(map[string]any{"uniqueItems": true})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := s.Validate(equalHashes(11)); err != nil {
		t.Error(err)
	}
	t.Logf("checked after %s", time.Since(start))
	if _, err := Compile(map[string]any{"$schema": "http://json-schema.org/draft-07/schema#", "enum": items}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

// TestLibraryReportsOtherLocations has the reason for the type propertyNames.
func TestLibraryReportsOtherLocations(t *testing.T) {
	const schema = `{"items": {"properties": {"a": {"items": {"propertyNames": {"maxLength": 1}}}}}}`
	const doc = `[{"a": [{"xx": 1}, {"y": 1}]}, {"a": [{"z": 1}]}]`
	want := "at /0/a/0: invalid property name 'xx': maxLength: got 2, want 1"
	if err := verdict(t, schema, doc); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err := library(t, schema, parsed(t, doc))
	if err == nil || strings.Contains(err.Error(), "'/0/a/0'") {
		t.Errorf("the library reports the right location: %v", err)
	}
}

func TestFaultsOfPatternsHaveTheirLocations(t *testing.T) {
	for range 20 {
		err := verdict(t, `{"properties": {"a": {"patternProperties": {"a(": true, "b": true}}, "b": {}, "c": {}}}`, `1`)
		if err == nil || !strings.HasPrefix(err.Error(), "at /properties/a/patternProperties/a(: 'a(' is not valid regex") {
			t.Fatal(err)
		}
	}
}

// TestSlowSchemas has schemas and documents that need much time in the library, each for another reason.
func TestSlowSchemas(t *testing.T) {
	deep := func(n int, inner string) string { return strings.Repeat("[", n) + inner + strings.Repeat("]", n) }
	var enum, objects []string
	for i := range 5_000 {
		enum = append(enum, fmt.Sprintf(`"%s%d"`, strings.Repeat("x", 100), i))
		objects = append(objects, fmt.Sprintf(`"k%d": 1`, i))
	}
	const work = "too much work"
	for _, c := range []struct{ name, schema, doc, want string }{
		{"in not", `{"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "contains": {"$ref": "#/$defs/a"}, "type": "array"}}}`, deep(60, "1"), work},
		{"patterns", `{"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "object", "patternProperties": {"a": {"$ref": "#/$defs/a"}, "^a": {"$ref": "#/$defs/a"}}}}}`, strings.Repeat(`{"a": `, 60) + "1" + strings.Repeat("}", 60), work},
		{"references of draft 7", `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"anyOf": [{"items": {"$ref": "#/definitions/a"}, "minItems": 9}, {"items": {"$ref": "#/definitions/a"}, "minItems": 8}]}}, "$ref": "#/definitions/a"}`, deep(60, ""), work},
		{"enum of many", `{"items": {"enum": [` + strings.Join(enum, ", ") + `]}}`, "[" + strings.Repeat(`"x", `, 100_000) + "1]", work},
		{"evaluated properties", `{"unevaluatedProperties": true, "allOf": [` + strings.Repeat("{}, ", 4_000) + `true]}`, "{" + strings.Join(objects, ", ") + "}", work},
		{"values of draft 7", `{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "const": 1, "definitions": {"a": {}}}`, "2", ""},
		{"many schemas", `{"allOf": [` + strings.Repeat("{}, ", 10_000) + `{}]}`, "1", "schema too large"},
		{"many digits", `{"minimum": 1` + strings.Repeat("0", 100) + `}`, "1", "more than 64 digits"},
		{"frames", `{"$defs": {` + chained(900) + `, "d900": {"items": {"$ref": "#/$defs/d0"}}}, "$ref": "#/$defs/d0"}`, deep(900, ""), "nested too deeply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			if err := verdict(t, c.schema, c.doc); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%.300v, want %q", err, c.want)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("needed %s", took)
			}
		})
	}
}

func chained(n int) string {
	defs := make([]string, n)
	for i := range defs {
		defs[i] = fmt.Sprintf(`"d%d": {"$ref": "#/$defs/d%d"}`, i, i+1)
	}
	return strings.Join(defs, ", ")
}

func TestSchemasAreCheckedInParallel(t *testing.T) {
	s, err := Compile(map[string]any{"items": map[string]any{"type": "integer"}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for i := range 8 {
		go func() {
			doc := any([]any{1, 2})
			if i%2 == 0 {
				doc = []any{1, "2"}
			}
			err := s.Validate(doc)
			if (err != nil) == (i%2 == 0) {
				err = nil
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func FuzzSchemas(f *testing.F) {
	for _, c := range hostile() {
		if len(c.schema)+len(c.doc) < 20_000 {
			f.Add(c.schema, c.doc)
		}
	}
	f.Add(`{"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"], "additionalProperties": false}`, `{"a": 2, "b": null}`)
	f.Add(`{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "definitions": {"a": {"items": [{"const": 1}], "additionalItems": false}}}`, `[1, 2]`)
	f.Add(`{"$dynamicAnchor": "n", "properties": {"a": {"$dynamicRef": "#n"}}, "unevaluatedProperties": false, "if": {"required": ["a"]}, "then": {"minProperties": 1}}`, `{"a": {"b": 1}}`)
	f.Fuzz(func(t *testing.T, schema, doc string) {
		raw, err := Parse(schema)
		m, ok := raw.(map[string]any)
		value, docErr := Parse(doc)
		if err != nil || !ok || docErr != nil || len(schema)+len(doc) > 20_000 {
			return
		}
		s, err := Compile(m)
		if err == nil {
			err = s.Validate(value)
		}
		if err != nil && strings.Contains(err.Error(), "the check against the schema failed") {
			t.Errorf("%s: %s: %v", schema, doc, err) // it was a panic
		}
	})
}
