package tasks

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

const maxSchema = 64 << 10 // bytes of a schema as JSON

var (
	schemaForm      = form[map[string]any]{Type{Name: "JSON Schema"}, readSchema}
	emptySchemaForm = form[map[string]any]{schemaForm.Type, func(v value) (map[string]any, bool) {
		if v.empty() {
			return nil, false
		}
		return readSchema(v)
	}}
)

// readSchema reads a JSON Schema of an object.
func readSchema(v value) (map[string]any, bool) {
	if !v.isMapping() {
		v.wrong("a JSON Schema", "write for example {type: object, properties: {summary: {type: string}}}")
		return nil, false
	}
	doc, ok := v.json()
	if !ok {
		return nil, false
	}
	schema, _ := doc.(map[string]any)
	if kind, said := schema["type"]; said && kind != "object" {
		v.at([]string{"type"}).problem("the schema must be that of an object", "write type: object")
		return nil, false
	}
	schema["type"] = "object"
	if data, err := json.Marshal(schema); err != nil || len(data) > maxSchema {
		v.problem("the schema exceeds 64 KiB", "make it smaller")
		return nil, false
	}
	return schema, v.compiles(schema)
}

// json returns the value as JSON has it: maps, slices, texts, numbers, booleans
// and nil.
func (v value) json() (any, bool) {
	switch {
	case v.isMapping():
		m, good := map[string]any{}, true
		entries, _ := v.entries()
		for _, e := range entries {
			x, ok := e.json()
			if e.leadsOutside() {
				e.problem(fmt.Sprintf("%s refers to a schema outside of this one", e.name), `write what it stands for under "$defs", and "#/$defs/NAME" here`)
				ok = false
			}
			m[e.key.Value] = x
			good = good && ok
		}
		return m, good
	case v.isList():
		all, _ := list(value.json)(v)
		return append([]any{}, all...), len(all) == len(v.node.Content) // an empty list is no nil
	}
	return v.jsonScalar()
}

// jsonScalar returns a text, number, boolean or nil.
func (v value) jsonScalar() (any, bool) {
	switch v.node.ShortTag() {
	case "!!null":
		return nil, true
	case "!!bool":
		return strings.EqualFold(v.node.Value, "true"), true
	case "!!int", "!!float":
		if n, err := strconv.ParseInt(v.node.Value, 10, 64); err == nil {
			return n, true
		}
		var f float64
		if err := v.node.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			v.wrong("a number that JSON has", "write another, or put it in quotes")
			return nil, false
		}
		return f, true
	}
	return v.node.Value, true
}

// leadsOutside reports whether the value refers to a schema elsewhere.
func (v value) leadsOutside() bool {
	refers := slices.Contains([]string{"$ref", "$dynamicRef", "$recursiveRef"}, v.key.Value)
	return refers && v.isScalar() && !strings.HasPrefix(v.node.Value, "#")
}

// compiles reports whether a schema is one, and records what is wrong with it:
// of several faults the first of those that are furthest inside.
func (v value) compiles(doc map[string]any) bool {
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
	at.problem("invalid JSON Schema: "+plainMessage(what), "compare it with json-schema.org")
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
func (v value) at(path []string) value {
	for _, step := range path {
		entries := v.children()
		i := slices.IndexFunc(entries, func(e value) bool { return e.name == problem.Quote(step) })
		if i < 0 {
			return v
		}
		v = entries[i]
	}
	return v
}

// children returns the values of a mapping or list, each named by its quoted
// key or index.
func (v value) children() []value {
	if v.isMapping() {
		entries, _ := v.entries()
		return entries
	}
	var all []value
	for i, n := range v.node.Content {
		e := value{src: v.src, node: n, use: n}.resolved()
		e.name = problem.Quote(strconv.Itoa(i))
		all = append(all, e)
	}
	return all
}
