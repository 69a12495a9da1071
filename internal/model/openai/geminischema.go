package openai

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// geminiKeywords are the keywords of a schema that Gemini supports. It rejects
// requests with any other.
var geminiKeywords = []string{
	"type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "anyOf",
	"minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum",
}

// geminiFormats are the formats that it supports.
var geminiFormats = []string{"enum", "date-time", "int32", "int64", "float", "double"}

// Limits for references, which may be recursive.
const (
	deepest      = 3
	mostFollowed = 1000
)

// GeminiSchema returns a copy of a schema for Gemini. Unsupported keywords are
// expressed by supported ones if possible, and omitted otherwise: the arguments are
// checked here anyway.
func GeminiSchema(schema map[string]any) map[string]any {
	return (&gemini{root: schema}).of(schema, 0)
}

// gemini maps parts of a schema.
type gemini struct {
	root     map[string]any
	followed int // references
}

func (g *gemini) of(schema map[string]any, depth int) map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		if g.followed++; depth >= deepest || g.followed > mostFollowed {
			return map[string]any{"type": "object"}
		}
		return g.of(g.find(ref), depth+1)
	}
	out := map[string]any{}
	for name, value := range otherwise(schema) {
		if slices.Contains(geminiKeywords, name) {
			out[name] = value
		}
	}
	if format, ok := out["format"].(string); ok && !slices.Contains(geminiFormats, format) {
		delete(out, "format")
	}
	oneType(out)
	textual(out)
	g.children(out, depth)
	return out
}

// find resolves a reference to a subschema, an empty one without a target.
func (g *gemini) find(ref string) map[string]any {
	at := g.root
	if ref == "#" {
		return at
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at, _ = at[name].(map[string]any)
	}
	return at
}

// otherwise expresses keywords by supported ones where possible.
func otherwise(schema map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range schema {
		switch name {
		case "const":
			out["enum"] = []any{value}
		case "oneOf":
			out["anyOf"] = value
		case "exclusiveMinimum":
			if n, ok := number(value); ok && n >= bound(schema["minimum"], n) {
				out["minimum"] = value
			}
		case "exclusiveMaximum":
			if n, ok := number(value); ok && n <= bound(schema["maximum"], n) {
				out["maximum"] = value
			}
		case "allOf":
			all, _ := value.([]any)
			for _, one := range all {
				s, _ := one.(map[string]any)
				maps.Copy(out, otherwise(s))
			}
		}
	}
	for name, value := range schema {
		if _, said := out[name]; !said || name == "description" || name == "type" {
			out[name] = value
		}
	}
	return out
}

// number returns the value of a JSON number in either representation.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}

// bound returns the value of a bound, or n without one.
func bound(v any, n float64) float64 {
	if other, ok := number(v); ok {
		return other
	}
	return n
}

// oneType makes a list of types the one that is not null.
func oneType(out map[string]any) {
	types := list(out["type"])
	if types == nil {
		return
	}
	delete(out, "type")
	for _, t := range types {
		if t == "null" {
			out["nullable"] = true
		} else if out["type"] == nil {
			out["type"] = t
		}
	}
}

// list returns the elements of a list in either representation, nil if v is not a
// list.
func list(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case []string:
		all := make([]any, len(v))
		for i, s := range v {
			all[i] = s
		}
		return all
	}
	return nil
}

// textual makes the values of an enumeration texts, and their type with them.
func textual(out map[string]any) {
	values := list(out["enum"])
	if values == nil {
		return
	}
	var texts []any
	for _, v := range values {
		if v == nil {
			out["nullable"] = true
			continue
		}
		texts = append(texts, fmt.Sprint(v))
	}
	out["enum"], out["type"] = texts, "string"
}

// children converts the subschemas of a schema, and removes keywords that don't apply
// to its type.
func (g *gemini) children(out map[string]any, depth int) {
	if choices := list(out["anyOf"]); choices != nil {
		g.choose(out, choices, depth)
		return
	}
	if out["type"] == nil {
		out["type"] = guess(out)
	}
	properties, _ := out["properties"].(map[string]any)
	delete(out, "properties")
	required := list(out["required"])
	delete(out, "required")
	items, _ := out["items"].(map[string]any)
	delete(out, "items")
	switch out["type"] {
	case "array":
		out["items"] = g.of(items, depth)
	case "object":
		if properties != nil {
			out["properties"] = g.properties(properties, depth)
		}
		required = slices.DeleteFunc(slices.Clone(required), func(name any) bool {
			text, _ := name.(string)
			return properties[text] == nil
		})
		if len(required) > 0 {
			out["required"] = required
		}
	}
}

// guess is the type of a schema that names none.
func guess(schema map[string]any) string {
	switch {
	case schema["properties"] != nil:
		return "object"
	case schema["items"] != nil:
		return "array"
	}
	return "string"
}

// choose converts alternatives, which exclude all other keywords. Null is not an
// alternative: it makes the others nullable.
func (g *gemini) choose(out map[string]any, choices []any, depth int) {
	var mapped []any
	nullable := false
	for _, one := range choices {
		s, ok := one.(map[string]any)
		switch {
		case !ok:
		case s["type"] == "null":
			nullable = true
		default:
			mapped = append(mapped, g.of(s, depth))
		}
	}
	description := out["description"]
	clear(out)
	if len(mapped) != 1 {
		out["anyOf"] = mapped
		return
	}
	only, _ := mapped[0].(map[string]any)
	maps.Copy(out, only)
	if nullable {
		out["nullable"] = true
	}
	if description != nil {
		out["description"] = description
	}
}

func (g *gemini) properties(properties map[string]any, depth int) map[string]any {
	out := map[string]any{}
	for name, p := range properties {
		s, _ := p.(map[string]any)
		out[name] = g.of(s, depth)
	}
	return out
}
