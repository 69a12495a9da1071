package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// reader reads the keywords of one schema: it checks their types, and adds the rules that
// follow from them.
type reader struct {
	c *compiler
	n *node
	m map[string]any
}

func (r *reader) draft() int { return r.n.in.draft }

func (r *reader) rule(check rule) { r.n.rules = append(r.n.rules, check) }

func (r *reader) read() {
	r.definitions()
	r.values()
	if ref, ok := r.text("$ref"); ok {
		r.reference("$ref", ref)
		if r.draft() < draft2019 {
			return // other keywords have no effect
		}
	}
	r.objects()
	r.dependencies()
	r.arrays()
	r.strings()
	r.numbers()
	if ref, ok := r.text("$dynamicRef"); ok && r.draft() >= draft2020 {
		r.reference("$dynamicRef", ref)
	}
	if ref, ok := r.text("$recursiveRef"); ok && r.draft() == draft2019 {
		r.reference("$recursiveRef", ref)
	}
	r.logic()
	r.unevaluated()
}

// definitions reads keywords without an effect of their own.
func (r *reader) definitions() {
	texts, flags := []string{"$schema", "title", "description", "format"}, []string{}
	if r.draft() >= draft6 {
		texts = append(texts, "$id")
	}
	if r.draft() >= draft7 {
		texts = append(texts, "$comment", "contentEncoding", "contentMediaType")
		flags = append(flags, "readOnly", "writeOnly")
	}
	if r.draft() >= draft2019 {
		texts, flags = append(texts, "$anchor"), append(flags, "deprecated")
	}
	for _, name := range texts {
		r.text(name)
	}
	for _, name := range flags {
		r.flag(name)
	}
	r.unused("definitions")
	if r.draft() >= draft2019 {
		r.unused("$defs")
		r.unusedSchema("contentSchema")
	}
}

// unused reads schemas that have no effect unless a reference names them.
func (r *reader) unused(name string) {
	uses := r.n.uses
	r.schemas(name)
	r.n.uses = uses
}

func (r *reader) unusedSchema(name string) {
	uses := r.n.uses
	r.schema(name)
	r.n.uses = uses
}

// value returns the value of a keyword if it is a T; another one is a fault.
func value[T any](r *reader, name, want string) (T, bool) {
	raw, found := r.m[name]
	v, ok := raw.(T)
	if found && !ok {
		r.c.fault(r.n.at.child(name), &Type{typeOf(raw), []string{want}})
	}
	return v, ok
}

func (r *reader) text(name string) (string, bool) { return value[string](r, name, "string") }

func (r *reader) flag(name string) bool {
	v, _ := value[bool](r, name, "boolean")
	return v
}

func (r *reader) number(name string) (decimal, bool) {
	v, ok := value[json.Number](r, name, "number")
	d, _ := number(v)
	return d, ok
}

// count returns a length, missing if the keyword is absent.
func (r *reader) count(name string, missing int) int {
	d, ok := r.number(name)
	if !ok {
		return missing
	}
	switch at := r.n.at.child(name); {
	case d.exp < 0:
		r.c.fault(at, &Type{"number", []string{"integer"}})
		return missing
	case d.neg:
		r.c.fault(at, Other("minimum: got "+d.text+", want 0"))
	}
	return d.count()
}

// texts returns the unique texts of a list.
func (r *reader) texts(list []any, at *position) []string {
	var all []string
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			r.c.fault(at.child(strconv.Itoa(i)), &Type{typeOf(v), []string{"string"}})
			continue
		}
		all = append(all, s)
	}
	if sorted := slices.Sorted(slices.Values(all)); len(slices.Compact(sorted)) < len(all) {
		r.c.fault(at, Other("items must be unique"))
	}
	return all
}

// schema returns the schema of a keyword, nil if it is missing.
func (r *reader) schema(name string) *node {
	raw, ok := r.m[name]
	if !ok {
		return nil
	}
	return r.sub(raw, r.n.at.child(name))
}

// sub returns a schema that this one uses.
func (r *reader) sub(raw any, at *position) *node {
	n := r.c.schema(raw, at, r.n.in)
	r.n.uses = append(r.n.uses, n)
	return n
}

// schemas returns the schemas of an object, by key.
func (r *reader) schemas(name string) map[string]*node {
	m, ok := value[map[string]any](r, name, "object")
	if !ok {
		return nil
	}
	all := map[string]*node{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all[key] = r.sub(m[key], r.n.at.child(name).child(key))
	}
	return all
}

// list returns the schemas of a list, which is not empty.
func (r *reader) list(name string) []*node {
	list, ok := value[[]any](r, name, "array")
	if !ok {
		return nil
	}
	at := r.n.at.child(name)
	if len(list) == 0 {
		r.c.fault(at, Other("minItems: got 0, want 1"))
	}
	all := make([]*node, len(list))
	for i, raw := range list {
		all[i] = r.sub(raw, at.child(strconv.Itoa(i)))
	}
	return all
}

// direct returns schemas that apply to the value itself.
func (r *reader) direct(all ...*node) []*node {
	all = slices.DeleteFunc(all, func(n *node) bool { return n == nil })
	r.n.direct = append(r.n.direct, all...)
	return all
}

// reference adds a rule for a reference, which is resolved later.
func (r *reader) reference(keyword, to string) {
	ref := &reference{from: r.n, keyword: keyword, to: to}
	r.c.refs, r.n.refs = append(r.c.refs, ref), append(r.n.refs, ref)
	if keyword == "$ref" && r.draft() < draft2019 {
		r.n.first = nil
	}
	r.rule(func(f *frame) { f.apply(f.targetOf(ref)) })
}
