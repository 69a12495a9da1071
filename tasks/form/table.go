package form

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
	Keys         func() Table
}

// Table is the table of a mapping, which alone defines its keys, one line each: name, type and
// destination, default, meaning. Decoding, the suggestions for unknown keys and [Keys] use
// the tables, which are beside the readers of their mappings.
type Table []Row

// Row is one line of a table.
type Row struct {
	Name string
	Field
	Def string // as YAML; "" for none
	Doc string
}

// Field is what the value of a key is, and how it is read and stored.
type Field struct {
	Type
	Read     func(Value)
	Required string // how to write the key where it is missing; "" if it may be
}

// Of is a type of value with its reader.
type Of[T any] struct {
	Type Type
	Read func(Value) (T, bool)
}

// Into stores what a form reads; after a problem nothing.
func Into[T any](dst *T, f Of[T]) Field {
	return Field{Type: f.Type, Read: func(v Value) {
		if got, ok := f.Read(v); ok {
			*dst = got
		}
	}}
}

// Adding adds the values of a list to those of other keys.
func Adding[T any](dst *[]T, f Of[[]T]) Field {
	return Field{Type: f.Type, Read: func(v Value) {
		if got, ok := f.Read(v); ok {
			*dst = append(*dst, got...)
		}
	}}
}

// Checked reads a value whose content is not used.
func Checked[T any](f Of[T]) Field { return Into(new(T), f) }

// Required marks a key that must be present, and shows how to write it.
func Required(example string, f Field) Field {
	f.Required = example
	return f
}

// Noting also stores the value itself, for problems that are found later.
func Noting(dst *Value, f Field) Field {
	read := f.Read
	f.Read = func(v Value) {
		*dst = v
		read(v)
	}
	return f
}

// Read reads a mapping and returns its entries by key. A key without a value
// counts as missing. The value of a misspelt key is read, too, to find its problems.
func (ks Table) Read(v Value) map[string]Value {
	present := map[string]Value{}
	entries, ok := v.Entries()
	for _, e := range entries {
		i := ks.Index(e.Key.Value)
		switch {
		case i < 0:
			i = ks.unknown(e, entries)
			if i >= 0 && !e.Null() {
				present[ks[i].Name] = e
				ks[i].Read(e)
			}
		case !e.Null():
			present[e.Key.Value] = e
			ks[i].Read(e)
		}
	}
	for _, k := range ks {
		if _, given := present[k.Name]; ok && !given && k.Required != "" {
			v.Lacks(k.Name, "add "+k.Required)
		}
	}
	return present
}

// unknown records an unknown key, and returns the index of the key that is meant; -1
// if that is unclear or has its own entry.
func (ks Table) unknown(e Value, entries []Value) int {
	name := e.Key.Value
	if fix := ks.foreignFix(name); fix != "" {
		e.KeyProblem("unknown key "+problem.Quote(name), fix)
		return -1
	}
	e.KeyProblem("unknown key "+problem.Quote(name), e.Src.Found.Suggest(name, ks.names(), "known here: "))
	meant := problem.Nearest(name, ks.names(), problem.AllowedEdits(name))
	if meant == "" || slices.ContainsFunc(entries, func(o Value) bool { return o.Key.Value == meant }) {
		return -1
	}
	return ks.Index(meant)
}

// Index returns the position of a key in the table; -1 for an unknown one.
func (ks Table) Index(name string) int {
	return slices.IndexFunc(ks, func(k Row) bool { return k.Name == name })
}

func (ks Table) names() []string {
	names := map[string]bool{}
	for _, k := range ks {
		names[k.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// WithDefaults returns a struct with the defaults of its keys.
func WithDefaults[T any](of func(*T) Table) T {
	var x T
	src := &Source{File: problem.File{Found: problem.NewCollector()}}
	for _, k := range of(&x) {
		if k.Def != "" {
			n := &yaml.Node{Kind: yaml.ScalarNode, Value: k.Def}
			k.Read(Value{Origin{Src: src, Use: n, Label: problem.Quote(k.Name)}, n})
		}
	}
	return x
}

// Below returns the keys of a table at a path, and those below them.
func (ks Table) Below(path string) []Key {
	var all []Key
	for _, k := range ks {
		one := Key{Path: path + k.Name, Type: k.Type, Default: k.Def, Doc: k.Doc, Required: k.Required != ""}
		all = append(all, one)
		all = append(all, k.below(one.Path)...)
	}
	return all
}

// below returns the keys of the mappings in a type.
func (t Type) below(path string) []Key {
	var all []Key
	if t.Keys != nil {
		all = t.Keys().Below(path + ".")
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
