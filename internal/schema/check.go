package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// rule checks the value of a frame against one or more keywords.
type rule func(*frame)

// run is one check of a document.
type run struct {
	steps    int    // that are left
	exceeded string // which limit was exceeded; the result counts for nothing then
	quiet    int    // > 0: only the verdict counts
}

// spend counts work. Without a limit, alternatives within alternatives need time that
// is exponential in the depth of a document.
func (r *run) spend(n int) {
	if r.steps -= n; r.steps < 0 {
		r.exceeded = "the check against the schema needs too much work"
	}
}

// step is a position in a document.
type step struct {
	up    *step
	key   string
	index int // > 0: of an item, plus 1
}

func (s *step) path() []string {
	var all []string
	for ; s != nil; s = s.up {
		key := s.key
		if s.index > 0 {
			key = strconv.Itoa(s.index - 1)
		}
		all = append(all, key)
	}
	slices.Reverse(all)
	return all
}

// frame is the check of one value against one schema.
type frame struct {
	run    *run
	node   *node
	up     *frame
	depth  int
	value  any
	at     *step
	faults []found
	seen   *seen // nil if nobody needs it
}

// found is a fault, whose path is not made before it is reported.
type found struct {
	at   *step
	kind Kind
}

// check checks a value against a schema. It returns what the schema evaluated if it is
// asked to.
func (r *run) check(n *node, value any, at *step, up *frame, track bool) ([]found, *seen) {
	f := frame{run: r, node: n, up: up, value: value, at: at}
	if up != nil {
		f.depth = up.depth + 1
	}
	if r.spend(1); f.depth > maxDepth {
		r.exceeded = "nested too deeply to be checked against the schema"
	}
	if r.exceeded != "" {
		return []found{{kind: Other("")}}, nil
	}
	if n.never {
		f.faultf("false schema")
		return f.faults, nil
	}
	if track || n.unevaluated {
		f.seen = &seen{}
	}
	for _, check := range n.first {
		if check(&f); f.faults != nil {
			return f.faults, nil
		}
	}
	for _, check := range n.rules {
		if check(&f); f.faults != nil && r.quiet > 0 {
			break
		}
	}
	if f.faults != nil {
		return f.faults, nil
	}
	return nil, f.seen
}

func (f *frame) fault(k Kind) {
	switch {
	case f.run.quiet > 0:
		f.faults = []found{{kind: Other("")}}
	case len(f.faults) < maxFaults:
		f.faults = append(f.faults, found{f.at, k})
	}
}

func (f *frame) faultf(format string, args ...any) {
	if f.run.quiet > 0 {
		f.fault(nil)
		return
	}
	f.fault(Other(fmt.Sprintf(format, args...)))
}

func (f *frame) merge(faults []found) {
	f.faults = append(f.faults, faults[:min(len(faults), maxFaults-len(f.faults))]...)
}

// apply checks the value against another schema, if there is one.
func (f *frame) apply(n *node) {
	if n == nil {
		return
	}
	faults, seen := f.run.check(n, f.value, f.at, f, f.seen != nil)
	f.merge(faults)
	f.evaluated(seen)
}

// evaluated adds what another schema has evaluated.
func (f *frame) evaluated(by *seen) {
	if by != nil {
		f.run.spend(len(by.props) + len(by.items))
		f.seen.merge(by)
	}
}

// descend checks a value within the value.
func (f *frame) descend(n *node, value any, at *step) {
	faults, _ := f.run.check(n, value, at, f, false)
	f.merge(faults)
}

// passes reports whether a value matches a schema. With track, what it evaluates counts.
func (f *frame) passes(n *node, value any, track bool) bool {
	f.run.quiet++
	faults, seen := f.run.check(n, value, nil, f, track && f.seen != nil)
	f.run.quiet--
	f.evaluated(seen)
	return faults == nil
}

// anyOf checks that the value matches a schema. If it matches none, the faults are
// those of all.
func (f *frame) anyOf(all []*node) {
	var faults []found
	matched := false
	for _, sub := range all {
		failed, seen := f.run.check(sub, f.value, f.at, f, f.seen != nil)
		if failed == nil {
			if f.seen == nil {
				return
			}
			matched = true
			f.evaluated(seen)
		}
		faults = append(faults, failed[:min(len(failed), maxFaults-len(faults))]...)
	}
	if !matched {
		f.merge(faults)
	}
}

// oneOf checks that the value matches exactly one schema.
func (f *frame) oneOf(all []*node) {
	matched := -1
	var faults []found
	for i, sub := range all {
		switch {
		case matched < 0:
			failed, seen := f.run.check(sub, f.value, f.at, f, f.seen != nil)
			if failed == nil {
				matched = i
				f.evaluated(seen)
			}
			faults = append(faults, failed[:min(len(failed), maxFaults-len(faults))]...)
		case f.passes(sub, f.value, false):
			f.faultf("'oneOf' failed, subschemas %d, %d matched", matched, i)
			return
		}
	}
	if matched < 0 {
		f.merge(faults)
	}
}

// unique checks that the items of a list differ.
func (f *frame) unique(list []any) {
	known := map[string]int{}
	for i, item := range list {
		k := key(item)
		f.run.spend(len(k) / 16)
		if first, ok := known[k]; ok {
			f.faultf("items at %d and %d are equal", first, i)
			return
		}
		known[k] = i
	}
}

// pattern is a regular expression.
type pattern struct {
	*regexp.Regexp
	size int // instructions, roughly
}

// matches reports whether a text matches an expression, which needs time for each
// character and instruction.
func (f *frame) matches(p *pattern, text string) bool {
	f.run.spend(len(text) * p.size / 64)
	return f.run.exceeded == "" && p.MatchString(text)
}

// targetOf returns the schema that a reference means: that of a dynamic one is the
// outermost with its anchor.
func (f *frame) targetOf(ref *reference) *node {
	target := ref.target
	if !ref.isDynamic() {
		return target
	}
	f.run.spend(f.depth)
	for up := f; up != nil; up = up.up {
		in := up.node.in
		if n := in.dynamic[ref.anchor]; n != nil && !ref.recursive {
			target = n
		}
		if ref.recursive && in.recursive {
			target = in.root
		}
	}
	return target
}

func onObject(check func(*frame, map[string]any)) rule {
	return func(f *frame) {
		if obj, ok := f.value.(map[string]any); ok {
			check(f, obj)
		}
	}
}

func onArray(check func(*frame, []any)) rule {
	return func(f *frame) {
		if list, ok := f.value.([]any); ok {
			check(f, list)
		}
	}
}

func onNumber(check func(*frame, decimal)) rule {
	return func(f *frame) {
		if d, ok := number(f.value); ok {
			f.run.spend(len(d.digits) / 64)
			check(f, d)
		}
	}
}

// seen are the properties and items of a value that schemas have evaluated. The
// methods of a nil one do nothing.
type seen struct {
	props map[string]bool
	items map[int]bool
	to    int  // items before this index
	all   bool // all items
}

func (s *seen) property(names ...string) {
	if s == nil {
		return
	}
	if s.props == nil {
		s.props = map[string]bool{}
	}
	for _, name := range names {
		s.props[name] = true
	}
}

func (s *seen) item(i int) {
	if s == nil {
		return
	}
	if s.items == nil {
		s.items = map[int]bool{}
	}
	s.items[i] = true
}

func (s *seen) itemsTo(n int, all bool) {
	if s != nil {
		s.to, s.all = max(s.to, n), s.all || all
	}
}

func (s *seen) hasItem(i int) bool { return s.all || i < s.to || s.items[i] }

func (s *seen) merge(from *seen) {
	if s == nil || from == nil {
		return
	}
	for name := range from.props {
		s.property(name)
	}
	for i := range from.items {
		s.item(i)
	}
	s.itemsTo(from.to, from.all)
}
