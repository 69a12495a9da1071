package tasks

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks/problem"
)

// value is one value of a file. Its methods read it as what it should be and
// return false after recording what it is instead, so that a reader goes on to
// the next mistake.
type value struct {
	src  *source
	node *yaml.Node // never an alias
	use  *yaml.Node // where it is written: node, or an alias to it
	key  *yaml.Node // the key that it belongs to, or nil
	name string     // how messages speak of it
}

// resolved follows an alias.
func (v value) resolved() value {
	for v.node.Kind == yaml.AliasNode {
		v.node = v.node.Alias
	}
	return v
}

// source returns file:line, as rules give it.
func (v value) source() string { return fmt.Sprintf("%s:%d", v.src.Name, v.use.Line) }

// problem records a mistake in the value.
func (v value) problem(what, fix string) {
	v.src.Report(v.use.Line, v.use.Column, what, fix)
}

// keyProblem records a mistake in the key that the value belongs to.
func (v value) keyProblem(what, fix string) {
	v.src.Report(v.key.Line, v.key.Column, what, fix)
}

// lacks records that a key of the mapping is missing.
func (v value) lacks(key, fix string) {
	report := v.problem
	if v.key != nil {
		report = v.keyProblem
	}
	report(fmt.Sprintf("missing key %q in %s", key, v.name), fix)
}

// wrong records that the value is of another type than wanted.
func (v value) wrong(wanted, fix string) {
	v.problem(fmt.Sprintf("%s must be %s, not %s", v.name, wanted, v.describe()), fix)
}

// describe names the value for a message.
func (v value) describe() string {
	switch v.node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default: // a scalar: aliases and documents have been followed
	}
	switch v.node.ShortTag() {
	case "!!null":
		return "null"
	case "!!bool":
		return "the boolean " + v.node.Value
	case "!!int", "!!float":
		return "the number " + strings.Trim(problem.Quote(v.node.Value), `"`)
	}
	return "the string " + problem.Quote(v.node.Value)
}

// isMapping and its like look at the value and record nothing.
func (v value) isMapping() bool { return v.node.Kind == yaml.MappingNode }
func (v value) isList() bool    { return v.node.Kind == yaml.SequenceNode }
func (v value) isScalar() bool  { return v.node.Kind == yaml.ScalarNode }
func (v value) isBoolean() bool { return v.isScalar() && v.node.ShortTag() == "!!bool" }
func (v value) null() bool      { return v.isScalar() && v.node.ShortTag() == "!!null" }

// empty reports whether the value is null, "", {} or [].
func (v value) empty() bool {
	return v.null() || v.node.Value == "" && len(v.node.Content) == 0
}

// text is a string of a file, with its position.
type text struct {
	value
	s string
}

// text reads a string. Dates count as such; other plain values that are
// something else in YAML do not, as quotes make clear what is meant.
func (v value) text() (text, bool) {
	if !v.isScalar() || slices.Contains([]string{"!!null", "!!bool", "!!int", "!!float"}, v.node.ShortTag()) {
		fix := "write one string"
		if v.isScalar() && !v.null() {
			fix = "put it in quotes"
		}
		v.wrong("a string", fix)
		return text{}, false
	}
	return text{v, v.node.Value}, true
}

// filled reads a string that holds more than blanks.
func (v value) filled() (text, bool) {
	t, ok := v.text()
	if ok && strings.TrimSpace(t.s) == "" {
		v.problem(v.name+" is empty", "give it a value, or remove it")
		return text{}, false
	}
	return t, ok
}

// str is filled without the position.
func (v value) str() (string, bool) {
	t, ok := v.filled()
	return t.s, ok
}

// scalar reads any single value as it is spelt: numbers and booleans too are
// what they look like in a variable or a command.
func (v value) scalar() (text, bool) {
	if !v.isScalar() || v.null() {
		v.wrong("a string, number or boolean", "write one value")
		return text{}, false
	}
	return text{v, v.node.Value}, true
}

// list returns a reader of lists. Entries that cannot be read are left out.
func list[T any](read func(value) (T, bool)) func(value) ([]T, bool) {
	return func(v value) ([]T, bool) {
		if !v.isList() {
			fix := "write [A, B]"
			if v.isScalar() && !v.null() {
				fix = fmt.Sprintf("put it in brackets: [%s]", abbreviated(v.node.Value))
			}
			v.wrong("a list", fix)
			return nil, false
		}
		var all []T
		for i, n := range v.node.Content {
			entry := value{src: v.src, node: n, use: n, name: fmt.Sprintf("entry %d of %s", i+1, v.name)}
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

// entries reads a mapping in the order of the file. Entries with a problem in
// their key are left out. A merge key ("<<") stands for the entries of its
// mapping, or of each of its mappings, which the mapping's own keys and the
// earlier of several override.
func (v value) entries() ([]value, bool) {
	if !v.isMapping() {
		v.wrong("a mapping", "write KEY: VALUE")
		return nil, false
	}
	own := map[string]value{}
	var all []value
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		e := value{src: v.src, key: v.node.Content[i], node: v.node.Content[i+1], use: v.node.Content[i+1]}.resolved()
		switch {
		case e.merges():
			e.name = `"<<"`
			all = append(all, e)
		case e.keyed():
			if first, twice := own[e.key.Value]; twice {
				e.keyProblem(fmt.Sprintf("duplicate key %s, first defined on line %d", problem.Quote(e.key.Value), first.key.Line), "keep one of them")
				continue
			}
			own[e.key.Value] = e
			all = append(all, e)
		}
	}
	return merged(all, own), true
}

// merges reports whether the key is the merge key.
func (v value) merges() bool { return v.key.Kind == yaml.ScalarNode && v.key.ShortTag() == "!!merge" }

// keyed gives the value its name after its key, which has to be a word.
func (v *value) keyed() bool {
	if v.key.Kind != yaml.ScalarNode || v.key.ShortTag() == "!!null" {
		v.keyProblem("a key must be a word", "write WORD: VALUE")
		return false
	}
	v.name = problem.Quote(v.key.Value)
	return true
}

// merged replaces merge keys by the entries of their mappings.
func merged(all []value, own map[string]value) []value {
	taken := maps.Clone(own)
	var out []value
	for _, e := range all {
		if !e.merges() {
			out = append(out, e)
			continue
		}
		for _, m := range e.mergeEntries() {
			if _, ok := taken[m.key.Value]; !ok {
				taken[m.key.Value] = m
				out = append(out, m)
			}
		}
	}
	return out
}

// mergeEntries returns the entries that a merge key stands for.
func (v value) mergeEntries() []value {
	if !v.isList() {
		entries, _ := v.entries()
		return entries
	}
	lists, _ := list(value.entries)(v)
	return slices.Concat(lists...)
}

// named reports whether the key is a name that a template can refer to.
func (v value) named() bool {
	if !nameForm.MatchString(v.key.Value) {
		v.keyProblem("invalid name "+v.name, "use letters, digits, _ and -, starting with a letter")
		return false
	}
	return true
}

// ruleSource is where a rule stands: the line of its key.
func (v value) ruleSource() string {
	line := v.use.Line
	if v.key != nil {
		line = v.key.Line
	}
	return fmt.Sprintf("%s:%d", v.src.Name, line)
}

// expandHome replaces "~" or "$HOME" at the start of a pattern by the home
// directory.
func (v value) expandHome(pattern string) (string, bool) {
	if pattern == "" {
		v.keyProblem("an empty pattern matches nothing", `write "*" for everything`)
		return "", false
	}
	for _, sign := range []string{"~", "$HOME"} {
		rest, ok := strings.CutPrefix(pattern, sign)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if v.src.home == "" {
			v.keyProblem(fmt.Sprintf("%s is the home directory, but HOME is not set", sign), "write the path of the directory")
			return "", false
		}
		return strings.TrimSuffix(v.src.home, "/") + rest, true
	}
	return pattern, true
}

const maxDefined = 100 // agents, providers or tools of a manifest

// definitions reads a mapping from the names of a few things to what they are.
func (v value) definitions() ([]value, bool) {
	entries, ok := v.entries()
	if len(entries) > maxDefined {
		v.problem(fmt.Sprintf("%s has more than %d entries", v.name, maxDefined), "spread them over several manifests")
		return nil, false
	}
	return entries, ok
}

// seenFrom describes the position of another value.
func (v value) seenFrom(other value) string {
	if v.src == other.src {
		return fmt.Sprintf("on line %d", other.use.Line)
	}
	return "at " + other.source()
}

// refusedKeySource reports whether a policy does not list a source of keys, and records it.
func (v value) refusedKeySource(what, name string) bool {
	by, refused := v.src.policies.RefusesUnlisted(policy.KeySources, name)
	if refused {
		v.refuse(what, by)
	}
	return refused
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
