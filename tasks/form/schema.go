package form

import (
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// SchemaDocument returns the JSON Schema (draft 2020-12) of files with the keys of a table. It has each mapping once.
func SchemaDocument(name string, ks Table) map[string]any {
	doc := ks.schema()
	define(doc)
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["$id"] = "urn:millhand:" + name + ":1"
	doc["title"] = "millhand " + name
	return doc
}

// schema describes a mapping with exactly the keys of the table.
func (ks Table) schema() map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, k := range ks {
		one := k.schema()
		one["description"] = k.Doc
		if k.Def != "" {
			var value any
			if yaml.Unmarshal([]byte(k.Def), &value) == nil {
				one["default"] = value
			}
		}
		properties[k.Name] = one
		if k.Required != "" {
			required = append(required, k.Name)
		}
	}
	doc := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		doc["required"] = required
	}
	return doc
}

// schema describes the values of a type and of its alternatives.
func (t Type) schema() map[string]any {
	if t.Or == nil {
		return t.alone()
	}
	var all []any
	for one := &t; one != nil; one = one.Or {
		all = append(all, one.alone())
	}
	return map[string]any{"anyOf": all}
}

// alone describes the values of a type without its alternatives.
func (t Type) alone() map[string]any {
	switch t.Name {
	case "integer":
		doc := map[string]any{"type": "integer", "minimum": t.Min}
		if t.Max > 0 {
			doc["maximum"] = t.Max
		}
		return doc
	case "number", "boolean":
		return map[string]any{"type": t.Name}
	case "duration":
		return map[string]any{"type": "string", "pattern": `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`, "examples": []any{"90s", "20m", "1h30m"}}
	case "days":
		return map[string]any{"type": "string", "pattern": `^[1-9][0-9]{0,3}d$`, "examples": []any{"30d"}}
	case "bytes":
		return map[string]any{"type": "string", "pattern": `^[^kKMGTiB]+([kKMGT]B|[KMGT]iB)$`, "examples": []any{"500MB", "8GB"}}
	case "USD":
		return map[string]any{"type": "number", "minimum": 0}
	case "enum":
		return map[string]any{"enum": anys(t.Values)}
	case "list":
		return map[string]any{"type": "array", "items": t.Elem.schema()}
	case "map":
		return t.mapSchema()
	case "mapping":
		if t.Keys != nil {
			return t.Keys().schema()
		}
		return map[string]any{"type": "object"}
	case "JSON Schema":
		return map[string]any{"type": "object"}
	}
	if t.Scalar {
		return map[string]any{"type": []any{"string", "number", "boolean"}}
	}
	return map[string]any{"type": "string"}
}

// mapSchema describes a map, whose names may include known keys.
func (t Type) mapSchema() map[string]any {
	doc := map[string]any{"type": "object"}
	switch {
	case t.Keys != nil:
		doc = t.Keys().schema()
	case t.Names == "PERMISSION":
		doc["properties"] = map[string]any{"git": map[string]any{"enum": []any{"none", "write"}}}
	}
	doc["additionalProperties"] = t.Elem.schema()
	return doc
}

func anys(words []string) []any {
	all := make([]any, len(words))
	for i, w := range words {
		all[i] = w
	}
	return all
}

// String describes the values in words, as in docs/manifest.md.
func (t Type) String() string {
	text := t.Name
	switch {
	case len(t.Values) > 0:
		text = strings.Join(t.Values, ", ")
	case t.Name == "list" && t.Elem != nil:
		text = "list of " + t.Elem.String()
	case t.Name == "map" && t.Elem != nil:
		text = "map of " + t.Elem.String()
	}
	if t.Or != nil {
		text += " or " + t.Or.String()
	}
	return text
}

// MatchKeys returns the keys that a name stands for, as a user writes it: complete or from
// any of its keys on, with or without the brackets of lists, with NAME or the names of a
// manifest, and with * for any characters of one key.
func MatchKeys(all []Key, name string) []Key {
	want := strings.Split(strings.ReplaceAll(name, "[]", ""), ".")
	var found, below []Key
	for _, k := range all {
		have := strings.Split(strings.ReplaceAll(k.Path, "[]", ""), ".")
		switch {
		case len(have) < len(want):
		case samePath(have, want):
			found = append(found, k)
		case !ownName(have[len(have)-len(want)], want[0]) && samePath(have[len(have)-len(want):], want):
			below = append(below, k)
		}
	}
	if len(found) > 0 {
		return found
	}
	return below
}

func samePath(have, want []string) bool {
	return slices.EqualFunc(have, want, func(have, want string) bool {
		matches, err := path.Match(want, have)
		return err == nil && matches || ownName(have, want)
	})
}

// ownName reports whether a key of a path stands for a name that the user has chosen.
func ownName(have, want string) bool {
	return have == strings.ToUpper(have) && have != want && !strings.Contains(want, "*")
}
