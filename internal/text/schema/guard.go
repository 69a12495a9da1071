package schema

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Limits of schemas and documents. The library has none, and Go can't recover from a
// stack overflow.
const (
	maxNesting    = 500     // objects and arrays of a schema within each other
	maxSchema     = 1 << 20 // bytes of a schema
	maxObjects    = 10_000  // of a schema: compiling compares each subschema with all
	maxReferences = 2_000   // of a schema
	maxStructured = 100     // arrays and objects of a list whose items must differ; see equalHashes in the tests
	maxDigits     = 64      // of a number: a fraction of any size is computed exactly
	maxExponent   = 400     // of a number; larger ones are equal to it
	maxDepth      = 1_000   // objects and arrays of a document within each other
	maxValues     = 1 << 20 // of a document
	maxBytes      = 32 << 20
)

// measured is the size of a schema or document.
type measured struct {
	values, bytes, depth int
	objects, references  int
	structured           int  // in the list with the most
	long                 bool // a number has too many digits
}

// role is what a value is to a schema.
type role int

const (
	isData   role = iota // also a document
	isSchema             // keywords, or a list of schemas
	isNamed              // schemas by their names
)

// of returns the role of the value of a key.
func (r role) of(key string) role {
	switch r {
	case isData:
		return isData
	case isNamed:
		return isSchema
	case isSchema:
	}
	switch key {
	case "const", "enum", "default", "examples":
		return isData
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return isNamed
	}
	return isSchema // also of an unknown keyword: a reference may point to it
}

// value measures a value and returns it with numbers that the library can hold, and
// whether it is another one.
func (m *measured) value(v any, depth int, is role) (any, bool) {
	m.values++
	m.depth = max(m.depth, depth)
	switch v := v.(type) {
	case string:
		m.bytes += len(v)
	case json.Number:
		n := m.number(v)
		return n, n != v
	case []any:
		return m.list(v, depth, is)
	case map[string]any:
		return m.object(v, depth, is)
	}
	return v, false
}

func (m *measured) list(list []any, depth int, is role) (any, bool) {
	var other []any
	for i, item := range list {
		if limited, differs := m.value(item, depth+1, is); differs {
			if other == nil {
				other = slices.Clone(list)
			}
			other[i] = limited
		}
	}
	if other != nil {
		return other, true
	}
	return list, false
}

func (m *measured) object(obj map[string]any, depth int, is role) (any, bool) {
	m.objects++
	var other map[string]any
	for key, v := range obj {
		m.bytes += len(key)
		m.keyword(key, v)
		limited, differs := m.value(v, depth+1, is.of(key))
		if n, ok := limited.(json.Number); ok && is == isSchema && isCount(key) && tooMany(n) {
			limited, differs = json.Number("2147483647"), true
		}
		if differs {
			if other == nil {
				other = maps.Clone(obj)
			}
			other[key] = limited
		}
	}
	if other != nil {
		return other, true
	}
	return obj, false
}

// keyword counts what makes compiling a schema slow.
func (m *measured) keyword(key string, v any) {
	switch key {
	case "$ref", "$dynamicRef", "$recursiveRef":
		m.references++
	case "enum", "required", "type":
		m.unique(v)
	case "dependencies", "dependentRequired":
		if obj, ok := v.(map[string]any); ok {
			for _, list := range obj {
				m.unique(list)
			}
		}
	}
}

func (m *measured) unique(v any) {
	list, _ := v.([]any)
	n := 0
	for _, item := range list {
		switch item.(type) {
		case []any, map[string]any:
			n++
		}
	}
	m.structured = max(m.structured, n)
}

func (m *measured) number(n json.Number) json.Number {
	mantissa, exponent, found := strings.Cut(strings.ToLower(string(n)), "e")
	m.long = m.long || len(mantissa) > maxDigits+len("-.")
	if e, err := strconv.Atoi(exponent); !found || err == nil && e >= -maxExponent && e <= maxExponent {
		return n
	}
	sign := ""
	if strings.HasPrefix(exponent, "-") {
		sign = "-"
	}
	return json.Number(fmt.Sprintf("%se%s%d", mantissa, sign, maxExponent))
}

// isCount reports whether a keyword has a length, which the library truncates to 64 bits.
func isCount(key string) bool {
	switch key {
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return true
	}
	return false
}

func tooMany(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f > 1<<31-1
}

// limitSchema returns a schema with numbers that the library can hold, or why
// it is refused.
func limitSchema(doc any, size int) (any, Other) {
	var m measured
	limited, _ := m.value(doc, 0, isSchema)
	switch {
	case m.depth > maxNesting:
		return nil, "schema nested too deeply"
	case m.references > maxReferences:
		return nil, Other(fmt.Sprintf("references of the schema nested too deeply: there are %d, and at most %d may be", m.references, maxReferences))
	case m.objects > maxObjects || size > maxSchema:
		return nil, "schema too large"
	case m.structured > maxStructured:
		return nil, Other(fmt.Sprintf("schema too large: a list has %d arrays and objects, and at most %d may be", m.structured, maxStructured))
	case m.long:
		return nil, Other(fmt.Sprintf("schema has a number with more than %d digits", maxDigits))
	}
	return limited, ""
}

// each returns the objects of a document with their locations, in the order of their keys.
func each(doc any) iter.Seq2[[]string, map[string]any] {
	return func(yield func([]string, map[string]any) bool) {
		var visit func(at []string, v any) bool
		visit = func(at []string, v any) bool {
			switch v := v.(type) {
			case map[string]any:
				if !yield(at, v) {
					return false
				}
				for _, key := range slices.Sorted(maps.Keys(v)) {
					if !visit(append(slices.Clone(at), key), v[key]) {
						return false
					}
				}
			case []any:
				for i, item := range v {
					if !visit(append(slices.Clone(at), strconv.Itoa(i)), item) {
						return false
					}
				}
			}
			return true
		}
		visit(nil, doc)
	}
}

// dynamicAnchors returns the JSON pointers of objects with a "$dynamicAnchor".
func dynamicAnchors(doc any) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at, obj := range each(doc) {
			if _, ok := obj["$dynamicAnchor"].(string); ok && !yield(pointer(at)) {
				return
			}
		}
	}
}
