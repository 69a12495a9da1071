package permission

import (
	"slices"
	"strings"
)

// Locks reports whether commands can be prevented from writing to a file, or to
// a directory and everything in it, given by its names: a deny rule of its own,
// not one that denies everything, bars it, and no later rule may allow
// something in it.
func (p Profile) Locks(isDir bool, names ...string) bool { return p.Locker()(isDir, names...) }

// Locker returns Locks for the many files of a tree.
func (p Profile) Locker() func(isDir bool, names ...string) bool {
	type rule struct {
		Rule
		foldedRule        // of a deny rule
		literal    string // what the names that it protects contain, unless they are short ones; "" if unknown
	}
	var limits [][]rule
	for limit := range p.limits() {
		var rules []rule
		for _, r := range slices.Backward(limit.Rules) {
			if r.covers("edit") && (r.Effect != Deny || !r.matchesAll()) {
				one := rule{Rule: r}
				if r.Effect == Deny {
					one.foldedRule = foldRule(&r)
				}
				if r.Protects {
					one.literal = literalOf(one.pattern)
				}
				rules = append(rules, one)
			}
		}
		limits = append(limits, rules)
	}
	return func(isDir bool, names ...string) bool {
		req := Need("edit", names...)
		other, below := spellings(req), make([]string, len(names))
		for i, name := range names {
			if isDir {
				below[i] = name + "/\x00"
			}
		}
		matches := func(r *rule) bool {
			return slices.ContainsFunc(other, func(name string) bool {
				return strings.Contains(name, r.literal) || strings.Contains(name, "~")
			}) && r.foldedRule.matches(other)
		}
		for _, rules := range limits {
			for i := range rules {
				r := &rules[i]
				if r.Effect == Allow && (r.applies(req) || isDir && slices.ContainsFunc(below, func(s string) bool { return mayMatch(r.Pattern, s) })) {
					break
				}
				if r.Effect == Deny && (matches(r) && (r.Protects || !isDir) || isDir && slices.ContainsFunc(below, func(s string) bool { return mustMatch(r.Pattern, s) })) {
					return true
				}
			}
		}
		return false
	}
}
