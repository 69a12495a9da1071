package tasks

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/tasks/problem"
)

// Key is one key of a manifest.
type Key struct {
	Path     string // "limits.turns", "tasks[].id", "agents.NAME.mode"
	Type     Type
	Default  string // as YAML; "" for none, or one that depends on other keys (see Doc)
	Doc      string // one line
	Required bool   // in its mapping
}

// Type describes the values that a key accepts.
type Type struct {
	Name         string   // "string", "integer", "number", "boolean", "duration", "days", "bytes", "USD", "enum", "list", "map", "mapping", "rules" or "JSON Schema"
	Values       []string // of an enum
	NotSupported []string // values of an enum that a later release accepts
	Min, Max     int      // of an integer; a Max of 0 is no bound
	Scalar       bool     // of a string: also a number or boolean, as it is spelt
	Names        string   // what the keys of a map are: "NAME" for example
	Elem         *Type    // of a list or map
	Or           *Type    // an alternative to this type
	keys         func() keys
}

// keys is the table of a mapping, which alone defines its keys, one line each: name, type and
// destination, default, meaning. Decoding, the suggestions for unknown keys and [Keys] use
// the tables, which are beside the readers of their mappings.
type keys []key

// key is one line of a table.
type key struct {
	name string
	field
	def string // as YAML; "" for none
	doc string
}

// field is what the value of a key is, and how it is read and stored.
type field struct {
	Type
	read     func(value)
	required string // how to write the key where it is missing; "" if it may be
}

// form is a type of value with its reader.
type form[T any] struct {
	Type
	read func(value) (T, bool)
}

// into stores what a form reads; after a problem nothing.
func into[T any](dst *T, f form[T]) field {
	return field{Type: f.Type, read: func(v value) {
		if got, ok := f.read(v); ok {
			*dst = got
		}
	}}
}

// adding adds the values of a list to those of other keys.
func adding[T any](dst *[]T, f form[[]T]) field {
	return field{Type: f.Type, read: func(v value) {
		if got, ok := f.read(v); ok {
			*dst = append(*dst, got...)
		}
	}}
}

// checked reads a value whose content is not used.
func checked[T any](f form[T]) field { return into(new(T), f) }

// required marks a key that must be present, and shows how to write it.
func required(example string, f field) field {
	f.required = example
	return f
}

// noting also stores the value itself, for problems that are found later.
func noting(dst *value, f field) field {
	read := f.read
	f.read = func(v value) {
		*dst = v
		read(v)
	}
	return f
}

// read reads a mapping and returns its entries by key. A key without a value
// counts as missing. The value of a misspelt key is read, too, to find its problems.
func (ks keys) read(v value) map[string]value {
	present := map[string]value{}
	entries, ok := v.entries()
	for _, e := range entries {
		i := ks.index(e.key.Value)
		switch {
		case i < 0:
			i = ks.unknown(e, entries)
			if i >= 0 && !e.null() {
				present[ks[i].name] = e
				ks[i].read(e)
			}
		case !e.null():
			present[e.key.Value] = e
			ks[i].read(e)
		}
	}
	for _, k := range ks {
		if _, given := present[k.name]; ok && !given && k.required != "" {
			v.lacks(k.name, "add "+k.required)
		}
	}
	return present
}

// unknown records an unknown key, and returns the index of the key that is meant; -1
// if that is unclear or has its own entry.
func (ks keys) unknown(e value, entries []value) int {
	name := e.key.Value
	if fix := ks.foreignFix(name); fix != "" {
		e.keyProblem("unknown key "+problem.Quote(name), fix)
		return -1
	}
	e.keyProblem("unknown key "+problem.Quote(name), e.src.Found.Suggest(name, ks.names(), "known here: "))
	meant := problem.Nearest(name, ks.names(), problem.AllowedEdits(name))
	if meant == "" || slices.ContainsFunc(entries, func(o value) bool { return o.key.Value == meant }) {
		return -1
	}
	return ks.index(meant)
}

func (ks keys) index(name string) int {
	return slices.IndexFunc(ks, func(k key) bool { return k.name == name })
}

func (ks keys) names() []string {
	names := map[string]bool{}
	for _, k := range ks {
		names[k.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// withDefaults returns a struct with the defaults of its keys.
func withDefaults[T any](of func(*T) keys) T {
	var x T
	src := &source{File: problem.File{Found: problem.NewCollector()}}
	for _, k := range of(&x) {
		if k.def != "" {
			n := &yaml.Node{Kind: yaml.ScalarNode, Value: k.def}
			k.read(value{src: src, node: n, use: n, name: problem.Quote(k.name)})
		}
	}
	return x
}

// below returns the keys of a table at a path, and those below them.
func (ks keys) below(path string) []Key {
	var all []Key
	for _, k := range ks {
		one := Key{Path: path + k.name, Type: k.Type, Default: k.def, Doc: k.doc, Required: k.required != ""}
		all = append(all, one)
		all = append(all, k.below(one.Path)...)
	}
	return all
}

// below returns the keys of the mappings in a type.
func (t Type) below(path string) []Key {
	var all []Key
	if t.keys != nil {
		all = t.keys().below(path + ".")
	}
	if t.Elem != nil {
		in := path + "[]"
		if t.Name == "map" {
			in = path + "." + t.Names
		}
		all = append(all, t.Elem.below(in)...)
	}
	if t.Or != nil {
		all = append(all, t.Or.below(path)...)
	}
	return all
}
