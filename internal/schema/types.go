package schema

import (
	"cmp"
	"slices"
	"strconv"
)

// types are the names of the types, in the order of messages.
var types = [...]string{"null", "boolean", "number", "integer", "string", "array", "object"}

// types returns the types that a keyword allows.
func (r *reader) types() []string {
	at := r.n.at.child("type")
	switch v := r.m["type"].(type) {
	case string:
		r.checkType(v, at)
		return []string{v}
	case []any:
		if len(v) == 0 {
			r.c.fault(at, Other("minItems: got 0, want 1"))
		}
		names := r.texts(v, at)
		for i, item := range v {
			if name, ok := item.(string); ok {
				r.checkType(name, at.child(strconv.Itoa(i)))
			}
		}
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Compare(slices.Index(types[:], a), slices.Index(types[:], b))
		})
		return names
	default:
		r.c.fault(at, &Type{typeOf(v), []string{"string", "array"}})
		return nil
	}
}

func (r *reader) checkType(name string, at *position) {
	if slices.Contains(types[:], name) {
		return
	}
	var all []any
	for _, known := range slices.Sorted(slices.Values(types[:])) {
		all = append(all, known)
	}
	r.c.fault(at, &Enum{name, all})
}

// typeOf returns the name of the type of a JSON value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}
