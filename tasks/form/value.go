package form

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/tasks/problem"
)

// Value is one value of a file. Its methods read it as what it should be and
// return false after recording what it is instead, so that a reader goes on to
// the next mistake.
type Value struct {
	Origin
	Node *yaml.Node // never an alias
}

// resolved follows an alias.
func (v Value) resolved() Value {
	for v.Node.Kind == yaml.AliasNode {
		v.Node = v.Node.Alias
	}
	return v
}

// Wrong records that the value is of another type than wanted.
func (v Value) Wrong(wanted, fix string) {
	v.Problem(fmt.Sprintf("%s must be %s, not %s", v.Label, wanted, v.describe()), fix)
}

// describe names the value for a message.
func (v Value) describe() string {
	switch v.Node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default: // a scalar: aliases and documents have been followed
	}
	switch v.Node.ShortTag() {
	case "!!null":
		return "null"
	case "!!bool":
		return "the boolean " + v.Node.Value
	case "!!int", "!!float":
		return "the number " + strings.Trim(problem.Quote(v.Node.Value), `"`)
	}
	return "the string " + problem.Quote(v.Node.Value)
}

// IsMapping reports whether the value is a mapping; like the methods below, it records nothing.
func (v Value) IsMapping() bool { return v.Node.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.Node.Kind == yaml.SequenceNode }

// IsScalar reports whether the value is a string, number, boolean or null.
func (v Value) IsScalar() bool { return v.Node.Kind == yaml.ScalarNode }

// IsBoolean reports whether the value is true or false.
func (v Value) IsBoolean() bool { return v.IsScalar() && v.Node.ShortTag() == "!!bool" }

// Null reports whether the value is null, or missing after its key.
func (v Value) Null() bool { return v.IsScalar() && v.Node.ShortTag() == "!!null" }

// Empty reports whether the value is null, "", {} or [].
func (v Value) Empty() bool {
	return v.Null() || v.Node.Value == "" && len(v.Node.Content) == 0
}

// Text is a string of a file, with its position.
type Text struct {
	Value
	S string
}

// Text reads a string. Dates count as such; other plain values that are
// something else in YAML do not, as quotes make clear what is meant.
func (v Value) Text() (Text, bool) {
	if !v.IsScalar() || slices.Contains([]string{"!!null", "!!bool", "!!int", "!!float"}, v.Node.ShortTag()) {
		fix := "write one string"
		if v.IsScalar() && !v.Null() {
			fix = "put it in quotes"
		}
		v.Wrong("a string", fix)
		return Text{}, false
	}
	return Text{v, v.Node.Value}, true
}

// Filled reads a string that holds more than blanks.
func (v Value) Filled() (Text, bool) {
	t, ok := v.Text()
	if ok && strings.TrimSpace(t.S) == "" {
		v.Problem(v.Label+" is empty", "give it a value, or remove it")
		return Text{}, false
	}
	return t, ok
}

// Str is filled without the position.
func (v Value) Str() (string, bool) {
	t, ok := v.Filled()
	return t.S, ok
}

// Scalar reads any single value as it is spelt: numbers and booleans too are
// what they look like in a variable or a command.
func (v Value) Scalar() (Text, bool) {
	if !v.IsScalar() || v.Null() {
		v.Wrong("a string, number or boolean", "write one value")
		return Text{}, false
	}
	return Text{v, v.Node.Value}, true
}

// List returns a reader of lists. Entries that cannot be read are left out.
func List[T any](read func(Value) (T, bool)) func(Value) ([]T, bool) {
	return func(v Value) ([]T, bool) {
		if !v.IsList() {
			fix := "write [A, B]"
			if v.IsScalar() && !v.Null() {
				fix = fmt.Sprintf("put it in brackets: [%s]", abbreviated(v.Node.Value))
			}
			v.Wrong("a list", fix)
			return nil, false
		}
		var all []T
		for i, n := range v.Node.Content {
			entry := Value{Origin{Src: v.Src, Use: n, Label: fmt.Sprintf("entry %d of %s", i+1, v.Label)}, n}
			if one, ok := read(entry.resolved()); ok {
				all = append(all, one)
			}
		}
		return all, true
	}
}

func abbreviated(s string) string {
	if utf8.RuneCountInString(s) > 20 || strings.ContainsAny(s, "\r\n") {
		return "..."
	}
	return s
}

// Entries reads a mapping in the order of the file. Entries with a problem in
// their key are left out. A merge key ("<<") stands for the entries of its
// mapping, or of each of its mappings, which the mapping's own keys and the
// earlier of several override.
func (v Value) Entries() ([]Value, bool) {
	if !v.IsMapping() {
		v.Wrong("a mapping", "write KEY: VALUE")
		return nil, false
	}
	own := map[string]Value{}
	var all []Value
	for i := 0; i+1 < len(v.Node.Content); i += 2 {
		e := Value{Origin{Src: v.Src, Key: v.Node.Content[i], Use: v.Node.Content[i+1]}, v.Node.Content[i+1]}.resolved()
		switch {
		case e.merges():
			e.Label = `"<<"`
			all = append(all, e)
		case e.keyed():
			if first, twice := own[e.Key.Value]; twice {
				e.KeyProblem(fmt.Sprintf("duplicate key %s, first defined on line %d", problem.Quote(e.Key.Value), first.Key.Line), "keep one of them")
				continue
			}
			own[e.Key.Value] = e
			all = append(all, e)
		}
	}
	return merged(all, own), true
}

// merges reports whether the key is the merge key.
func (v Value) merges() bool { return v.Key.Kind == yaml.ScalarNode && v.Key.ShortTag() == "!!merge" }

// keyed gives the value its name after its key, which has to be a word.
func (v *Value) keyed() bool {
	if v.Key.Kind != yaml.ScalarNode || v.Key.ShortTag() == "!!null" {
		v.KeyProblem("a key must be a word", "write WORD: VALUE")
		return false
	}
	v.Label = problem.Quote(v.Key.Value)
	return true
}

// merged replaces merge keys by the entries of their mappings.
func merged(all []Value, own map[string]Value) []Value {
	taken := maps.Clone(own)
	var out []Value
	for _, e := range all {
		if !e.merges() {
			out = append(out, e)
			continue
		}
		for _, m := range e.mergeEntries() {
			if _, ok := taken[m.Key.Value]; !ok {
				taken[m.Key.Value] = m
				out = append(out, m)
			}
		}
	}
	return out
}

// mergeEntries returns the entries that a merge key stands for.
func (v Value) mergeEntries() []Value {
	if !v.IsList() {
		entries, _ := v.Entries()
		return entries
	}
	lists, _ := List(Value.Entries)(v)
	return slices.Concat(lists...)
}

// MaxDefined bounds mappings from names to definitions.
const MaxDefined = 100 // agents, providers or tools of a manifest

// Definitions reads a mapping from the names of a few things to what they are.
func (v Value) Definitions() ([]Value, bool) {
	entries, ok := v.Entries()
	if len(entries) > MaxDefined {
		v.Problem(fmt.Sprintf("%s has more than %d entries", v.Label, MaxDefined), "spread them over several manifests")
		return nil, false
	}
	return entries, ok
}
