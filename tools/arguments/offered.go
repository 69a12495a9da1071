package arguments

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxOffered is the maximum number of subschemas in an offered schema; further
// ones, as when references multiply, accept anything.
const maxOffered = 5000

// offeredSchema returns a schema in the form offered to models, with only the
// keywords that all providers accept. It never rejects what the schema allows,
// but may allow more; arguments are validated against the schema itself.
func offeredSchema(schema map[string]any) map[string]any {
	o := offering{root: schema, room: maxOffered}
	out := o.plain(o.joined(schema), nil)
	out["type"] = "object"
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	return out
}

// offering converts the subschemas of a schema.
type offering struct {
	root map[string]any
	room int // remaining number of subschemas
}

// joined returns the top of a schema with the properties of its unions and of allOf. Those are
// required that all alternatives or a schema of allOf require.
func (o *offering) joined(s map[string]any) map[string]any {
	props, required := map[string]any{}, requiredBy(s)
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		var common []string // required by all alternatives
		some, _ := s[key].([]any)
		for i, v := range some {
			sub, _ := v.(map[string]any)
			if ref, ok := sub["$ref"].(string); ok {
				sub = o.resolve(ref)
			}
			own, _ := sub["properties"].(map[string]any)
			for name, p := range own {
				if other, given := props[name]; given {
					p = map[string]any{"anyOf": []any{other, p}}
				}
				props[name] = p
			}
			names := requiredBy(sub)
			switch {
			case key == "allOf":
				required = append(required, names...)
			case i == 0:
				common = names
			default:
				common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(names, name) })
			}
		}
		required = append(required, common...)
	}
	if len(props) == 0 {
		return s
	}
	own, _ := s["properties"].(map[string]any)
	maps.Copy(props, own)
	out, all := maps.Clone(s), []any{}
	slices.Sort(required)
	for _, name := range slices.Compact(required) {
		all = append(all, name)
	}
	out["properties"], out["required"] = props, all
	delete(out, "additionalProperties")
	return out
}

// requiredBy returns the names of the properties that a schema requires.
func requiredBy(s map[string]any) (names []string) {
	all, _ := s["required"].([]any)
	for _, v := range all {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// plain returns the offered form of one schema. refs are the references that
// led to it; a recursive one accepts anything.
func (o *offering) plain(s map[string]any, refs []string) map[string]any {
	if o.room--; o.room < 0 {
		return map[string]any{}
	}
	if ref, ok := s["$ref"].(string); ok {
		target := o.resolve(ref)
		if target == nil || slices.Contains(refs, ref) {
			return described(map[string]any{}, s)
		}
		return described(o.plain(target, append(slices.Clone(refs), ref)), s)
	}
	if some := variants(s); some != nil {
		return described(o.union(some, refs), s)
	}
	out := map[string]any{}
	for _, key := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if v, ok := s[key]; ok {
			out[key] = v
		}
	}
	enumerate(out, s)
	if closed, ok := s["additionalProperties"].(bool); ok && s["patternProperties"] == nil {
		out["additionalProperties"] = closed
	}
	if kind := plainType(s["type"]); kind != "" {
		out["type"] = kind
	}
	if items, ok := s["items"].(map[string]any); ok {
		out["items"] = o.plain(items, refs)
	}
	o.properties(out, s, refs)
	return described(out, s)
}

// enumerate adds a schema's enum, if its values are scalars.
func enumerate(out, s map[string]any) {
	values, _ := s["enum"].([]any)
	if v, ok := s["const"]; ok {
		values = []any{v}
	}
	values = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
	if len(values) == 0 || slices.ContainsFunc(values, isNested) {
		return
	}
	out["enum"] = values
	if !slices.ContainsFunc(values, func(v any) bool { _, ok := v.(string); return !ok }) {
		out["type"] = "string"
	}
}

// properties adds the offered form of an object's properties. Nullable ones
// become optional.
func (o *offering) properties(out, s map[string]any, refs []string) {
	props, ok := s["properties"].(map[string]any)
	if !ok {
		return
	}
	plain := map[string]any{}
	for name, p := range props {
		sub, _ := p.(map[string]any)
		plain[name] = o.plain(sub, refs)
	}
	out["properties"] = plain
	required, _ := s["required"].([]any)
	required = slices.DeleteFunc(slices.Clone(required), func(name any) bool {
		sub, _ := props[fmt.Sprint(name)].(map[string]any)
		_, given := sub["default"]
		return given || acceptsNull(sub)
	})
	if len(required) > 0 {
		out["required"] = required
	}
}

// union returns the offered form of a union: the only schema that is not null,
// or the common type, or any type.
func (o *offering) union(some []any, refs []string) map[string]any {
	var saved []map[string]any
	for _, v := range some {
		if sub, ok := v.(map[string]any); ok && sub["type"] != "null" {
			saved = append(saved, o.plain(sub, refs))
		}
	}
	if len(saved) == 1 {
		return saved[0]
	}
	out := map[string]any{}
	if len(saved) > 0 && !slices.ContainsFunc(saved, func(k map[string]any) bool { return k["type"] != saved[0]["type"] }) && saved[0]["type"] != nil {
		out["type"] = saved[0]["type"]
	}
	return out
}

// resolve returns the schema that a local reference points to, nil if not
// found.
func (o *offering) resolve(ref string) map[string]any {
	at := o.root
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	for component := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if rest != "" {
			at, _ = at[strings.NewReplacer("~1", "/", "~0", "~").Replace(component)].(map[string]any)
		}
	}
	return at
}

// described adds a schema's description, which includes its default.
func described(out, s map[string]any) map[string]any {
	text, ok := s["description"].(string)
	if v, given := s["default"]; given {
		if data, err := json.Marshal(v); err == nil {
			text, ok = strings.TrimSpace(fmt.Sprintf("%s (default %s)", text, data)), true
		}
	}
	if ok {
		out = maps.Clone(out)
		out["description"] = text
	}
	return out
}

// variants returns the alternatives of a union, nil for other schemas. An
// allOf with a single schema counts as a union.
func variants(s map[string]any) []any {
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if some, ok := s[key].([]any); ok && s["properties"] == nil && (key != "allOf" || len(some) == 1) {
			return some
		}
	}
	return nil
}

// plainType returns the single type, other than null, that a schema allows; ""
// for several or none.
func plainType(kind any) string {
	if name, ok := kind.(string); ok {
		return name
	}
	some, _ := kind.([]any)
	some = slices.DeleteFunc(slices.Clone(some), func(t any) bool { return t == "null" })
	if len(some) != 1 {
		return ""
	}
	name, _ := some[0].(string)
	return name
}

// acceptsNull reports whether a schema allows null.
func acceptsNull(s map[string]any) bool {
	kinds, _ := s["type"].([]any)
	return slices.Contains(kinds, any("null")) || slices.ContainsFunc(variants(s), func(v any) bool {
		sub, _ := v.(map[string]any)
		return sub["type"] == "null"
	})
}

func isNested(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// complete sets missing properties to their default, or to null if they are
// required and nullable.
func complete(v any, schema map[string]any) any {
	switch v := v.(type) {
	case []any:
		if items, ok := schema["items"].(map[string]any); ok {
			for i := range v {
				v[i] = complete(v[i], items)
			}
		}
	case map[string]any:
		completeObject(v, schema)
	}
	return v
}

func completeObject(obj, schema map[string]any) {
	props, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for name, p := range props {
		sub, _ := p.(map[string]any)
		value, there := obj[name]
		given, has := sub["default"]
		switch {
		case there:
			obj[name] = complete(value, sub)
		case has:
			obj[name] = given
		case slices.Contains(required, any(name)) && acceptsNull(sub):
			obj[name] = nil
		}
	}
}
