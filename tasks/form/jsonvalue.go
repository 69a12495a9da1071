package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/text/schema"
	"github.com/millhand/millhand/tasks/problem"
)

// MaxSchema bounds JSON Schemas.
const MaxSchema = 64 << 10 // bytes of a schema as JSON

// The forms of JSON Schemas: one that must be there, and one that may be empty.
var (
	Schema         = Of[map[string]any]{Type{Name: "JSON Schema"}, ReadSchema}
	OptionalSchema = Of[map[string]any]{Schema.Type, func(v Value) (map[string]any, bool) {
		if v.Empty() {
			return nil, false
		}
		return ReadSchema(v)
	}}
)

// ReadSchema reads a JSON Schema of an object.
func ReadSchema(v Value) (map[string]any, bool) {
	if !v.IsMapping() {
		v.Wrong("a JSON Schema", "write for example {type: object, properties: {summary: {type: string}}}")
		return nil, false
	}
	doc, ok := v.JSON()
	if !ok {
		return nil, false
	}
	schema, _ := doc.(map[string]any)
	if kind, said := schema["type"]; said && kind != "object" {
		v.at([]string{"type"}).Problem("the schema must be that of an object", "write type: object")
		return nil, false
	}
	schema["type"] = "object"
	if data, err := json.Marshal(schema); err != nil || len(data) > MaxSchema {
		v.Problem("the schema exceeds 64 KiB", "make it smaller")
		return nil, false
	}
	return schema, v.compiles(schema)
}

// JSON returns the value as JSON has it: maps, slices, texts, numbers, booleans
// and nil.
func (v Value) JSON() (any, bool) {
	switch {
	case v.IsMapping():
		m, good := map[string]any{}, true
		entries, _ := v.Entries()
		for _, e := range entries {
			x, ok := e.JSON()
			if e.leadsOutside() {
				e.Problem(fmt.Sprintf("%s refers to a schema outside of this one", e.Label), `write what it stands for under "$defs", and "#/$defs/NAME" here`)
				ok = false
			}
			m[e.Key.Value] = x
			good = good && ok
		}
		return m, good
	case v.IsList():
		all, _ := List(Value.JSON)(v)
		return append([]any{}, all...), len(all) == len(v.Node.Content) // an empty list is no nil
	}
	return v.jsonScalar()
}

// jsonScalar returns a text, number, boolean or nil.
func (v Value) jsonScalar() (any, bool) {
	switch v.Node.ShortTag() {
	case "!!null":
		return nil, true
	case "!!bool":
		return strings.EqualFold(v.Node.Value, "true"), true
	case "!!int", "!!float":
		if n, err := strconv.ParseInt(v.Node.Value, 10, 64); err == nil {
			return n, true
		}
		var f float64
		if err := v.Node.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			v.Wrong("a number that JSON has", "write another, or put it in quotes")
			return nil, false
		}
		return f, true
	}
	return v.Node.Value, true
}

// leadsOutside reports whether the value refers to a schema elsewhere.
func (v Value) leadsOutside() bool {
	refers := slices.Contains([]string{"$ref", "$dynamicRef", "$recursiveRef"}, v.Key.Value)
	return refers && v.IsScalar() && !strings.HasPrefix(v.Node.Value, "#")
}

// compiles reports whether a schema is one, and records what is wrong with it:
// of several faults the first of those that are furthest inside.
func (v Value) compiles(doc map[string]any) bool {
	_, err := schema.Compile(doc)
	if err == nil {
		return true
	}
	what, at := err.Error(), v
	var faults schema.Faults
	if errors.As(err, &faults) {
		deepest := slices.MaxFunc(faults, func(a, b schema.Fault) int { return len(a.At) - len(b.At) })
		what, at = deepest.String(), v.at(deepest.At)
	}
	at.Problem("invalid JSON Schema: "+plainMessage(what), "compare it with json-schema.org")
	return false
}

// plainMessage makes a message of the compiler fit on a line, whatever the
// schema held.
func plainMessage(s string) string {
	const most = 160
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "..."
	}
	s = strconv.Quote(strings.ReplaceAll(s, `"`, "'"))
	return s[1 : len(s)-1]
}

// at returns the value at the end of a path of keys and indexes, or the last
// one before it is lost.
func (v Value) at(path []string) Value {
	for _, step := range path {
		entries := v.children()
		i := slices.IndexFunc(entries, func(e Value) bool { return e.Label == problem.Quote(step) })
		if i < 0 {
			return v
		}
		v = entries[i]
	}
	return v
}

// children returns the values of a mapping or list, each named by its quoted
// key or index.
func (v Value) children() []Value {
	if v.IsMapping() {
		entries, _ := v.Entries()
		return entries
	}
	var all []Value
	for i, n := range v.Node.Content {
		e := Value{Origin{Src: v.Src, Use: n}, n}.resolved()
		e.Label = problem.Quote(strconv.Itoa(i))
		all = append(all, e)
	}
	return all
}
