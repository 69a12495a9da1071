package form

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// defs finds the mappings that a schema has several times, so that each is written once, below $defs.
type defs struct {
	seen  map[string]int    // how often, by what they are
	names map[string]string // the path of the first key that has it
	taken map[string]bool   // the names
	all   map[string]any    // what is written, by name
}

// define replaces mappings that a document has several times by references. What a key adds to them, such as its description, stays there.
func define(doc map[string]any) {
	d := &defs{seen: map[string]int{}, names: map[string]string{}, taken: map[string]bool{}, all: map[string]any{}}
	d.count("", doc)
	d.below(doc)
	if len(d.all) > 0 {
		doc["$defs"] = d.all
	}
}

// count looks for mappings in a schema. Those in a mapping that was seen before are not counted again: they will be written once.
func (d *defs) count(path string, s map[string]any) {
	if is := mappingOf(s); is != "" {
		if d.seen[is]++; d.seen[is] > 1 {
			return
		}
		name := path
		for n := 2; d.taken[name]; n++ {
			name = fmt.Sprint(path, "-", n)
		}
		d.names[is], d.taken[name] = name, true
	}
	for _, p := range inner(s) {
		d.count(joined(path, p.name), p.schema)
	}
}

// below replaces mappings in a schema, but not itself.
func (d *defs) below(s map[string]any) {
	for _, p := range inner(s) {
		is := mappingOf(p.schema)
		if d.seen[is] < 2 {
			d.below(p.schema)
			continue
		}
		name := d.names[is]
		if d.all[name] == nil {
			one := maps.Clone(p.schema)
			maps.DeleteFunc(one, func(k string, _ any) bool { return added(k) })
			d.all[name] = one
			d.below(one)
		}
		maps.DeleteFunc(p.schema, func(k string, _ any) bool { return !added(k) })
		p.schema["$ref"] = "#/$defs/" + name
	}
}

// added reports whether a keyword is what a key adds to the schema of its values.
func added(keyword string) bool { return keyword == "description" || keyword == "default" }

// mappingOf returns what a schema of a mapping with at least two keys is, without what a key adds to it; "" for other schemas.
func mappingOf(s map[string]any) string {
	properties, _ := s["properties"].(map[string]any)
	if len(properties) < 2 {
		return ""
	}
	one := maps.Clone(s)
	maps.DeleteFunc(one, func(k string, _ any) bool { return added(k) })
	data, err := json.Marshal(one)
	if err != nil {
		panic(err) // unreachable: a schema is made of JSON's types
	}
	return string(data)
}

// subschema is a schema in another one. Its name is that of its key, NAME for the values of a map, and empty otherwise.
type subschema struct {
	name   string
	schema map[string]any
}

// inner returns the schemas in a schema, in the order of their names.
func inner(s map[string]any) []subschema {
	var all []subschema
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		all = append(all, subschema{name, properties[name].(map[string]any)})
	}
	for _, k := range []struct{ keyword, name string }{{"items", ""}, {"additionalProperties", "NAME"}} {
		if one, ok := s[k.keyword].(map[string]any); ok {
			all = append(all, subschema{k.name, one})
		}
	}
	alternatives, _ := s["anyOf"].([]any)
	for _, one := range alternatives {
		all = append(all, subschema{"", one.(map[string]any)})
	}
	return all
}

// joined is the path of a key below another one.
func joined(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
