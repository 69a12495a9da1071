package suggest

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// builder finds the rules that allow calls and none of the denied ones.
type builder struct {
	extends string
	base    permission.Profile // the preset; the zero value without one
	needs   []permission.Request
	used    []Call
	denied  []Call
	options [][]pattern      // for each need, from wide to narrow
	narrow  map[pattern]bool // the last ones of these
	blocked map[pattern]bool // patterns that would allow a denied call
}

// newBuilder returns the builder of calls. It extends the preset readonly if that allows
// something that they need, and none of the denied calls.
func newBuilder(used, denied []Call) *builder {
	b := &builder{used: used, denied: denied, narrow: map[pattern]bool{}, blocked: map[pattern]bool{}}
	readonly, _ := permission.Preset("readonly")
	needed, refused := false, false
	for _, c := range used {
		needed = needed || slices.ContainsFunc(c.Needs, func(n permission.Request) bool { return !n.Inner && permits(readonly, n) })
	}
	for _, c := range denied {
		refused = refused || permitsCall(readonly, c) && !needs(used, c)
	}
	if needed && !refused {
		b.extends, b.base = readonly.Name, readonly
	}
	b.needs = b.lacking(b.base, used)
	for _, n := range b.needs {
		options := candidates(n)
		b.options = append(b.options, options)
		if len(options) > 0 {
			b.narrow[options[len(options)-1]] = true
		}
	}
	return b
}

// needs reports whether calls need all that a call needs.
func needs(calls []Call, c Call) bool {
	return !slices.ContainsFunc(c.Needs, func(n permission.Request) bool {
		return !slices.ContainsFunc(calls, func(u Call) bool {
			return slices.ContainsFunc(u.Needs, func(o permission.Request) bool { return key(o) == key(n) })
		})
	})
}

// key identifies what is needed.
func key(n permission.Request) [3]string { return [3]string{n.Permission, n.Subject(), n.Open} }

// lacking returns what a profile does not allow of what calls need, each once.
func (b *builder) lacking(p permission.Profile, calls []Call) []permission.Request {
	var out []permission.Request
	seen := map[[3]string]bool{}
	for _, c := range calls {
		for _, n := range c.Needs {
			if !seen[key(n)] && !permits(p, n) {
				seen[key(n)] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// build returns the rules. It starts with wide patterns and replaces those that allow a
// denied call.
func (b *builder) build() []Rule {
	for {
		found := b.minimal(b.patterns())
		wide := b.tooWide(found)
		if len(wide) == 0 {
			return append(b.counted(found), protections(found)...)
		}
		for _, p := range wide {
			b.blocked[p] = true
		}
	}
}

// patterns returns a pattern for each need.
func (b *builder) patterns() []pattern {
	all := globs(b.needs, b.blocked)
	for i, n := range b.needs {
		if isFile(n) {
			continue
		}
		options := b.options[i]
		at := slices.IndexFunc(options, func(p pattern) bool { return !b.blocked[p] })
		if at < 0 {
			at = len(options) - 1 // nothing is narrower
		}
		all = append(all, options[at])
	}
	slices.SortFunc(all, func(a, b pattern) int {
		return cmp.Or(cmp.Compare(a.permission, b.permission), cmp.Compare(a.text, b.text))
	})
	return slices.Compact(all)
}

// minimal returns the patterns without those that others make superfluous, longest first.
func (b *builder) minimal(all []pattern) []pattern {
	by := make([]int, len(b.needs)) // patterns that allow each need
	uses := make([][]int, len(all))
	for i, p := range all {
		for k, n := range b.needs {
			if p.permission == n.Permission && allows(p.rule(), n) {
				by[k]++
				uses[i] = append(uses[i], k)
			}
		}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(len(all[y].text), len(all[x].text)) })
	drop := map[int]bool{}
	for _, i := range order {
		if !slices.ContainsFunc(uses[i], func(k int) bool { return by[k] < 2 }) {
			drop[i] = true
			for _, k := range uses[i] {
				by[k]--
			}
		}
	}
	var out []pattern
	for i, p := range all {
		if !drop[i] {
			out = append(out, p)
		}
	}
	return out
}

// tooWide returns patterns to replace by narrower ones: for each denied call that is allowed,
// one that allows what it needs, unless nothing is narrower.
func (b *builder) tooWide(found []pattern) []pattern {
	var wide []pattern
	for _, c := range b.denied {
		if !b.allowed(found, c) || slices.ContainsFunc(wide, func(f pattern) bool { return b.uses(f, c) }) {
			continue
		}
		if at := slices.IndexFunc(found, func(f pattern) bool { return !b.narrow[f] && b.uses(f, c) }); at >= 0 {
			wide = append(wide, found[at])
		}
	}
	return wide
}

// uses reports whether a pattern allows something that a call needs.
func (b *builder) uses(f pattern, c Call) bool {
	return slices.ContainsFunc(c.Needs, func(n permission.Request) bool { return f.permission == n.Permission && allows(f.rule(), n) })
}

// allowed reports whether the preset and patterns allow a call.
func (b *builder) allowed(found []pattern, c Call) bool {
	return !slices.ContainsFunc(c.Needs, func(n permission.Request) bool {
		return !slices.ContainsFunc(found, func(f pattern) bool { return f.permission == n.Permission && allows(f.rule(), n) }) && !permits(b.base, n)
	})
}

// counted returns the rules of patterns with the number of calls that need each.
func (b *builder) counted(found []pattern) []Rule {
	rules := make([]Rule, len(found))
	for i, f := range found {
		rules[i] = Rule{Rule: f.rule(), Calls: calls(f, b.base, b.used)}
	}
	return rules
}

// calls counts the calls with a need that the pattern allows, and the profile does not.
func calls(f pattern, p permission.Profile, all []Call) int {
	n := 0
	for _, c := range all {
		if slices.ContainsFunc(c.Needs, func(n permission.Request) bool {
			return f.permission == n.Permission && allows(f.rule(), n) && !permits(p, n)
		}) {
			n += c.Count
		}
	}
	return n
}

// proposals returns rules that would allow risky calls.
func (b *builder) proposals(p permission.Profile, risky []Call) []Rule {
	var rules []Rule
	for _, n := range b.lacking(p, risky) {
		options := candidates(n)
		if len(options) == 0 {
			continue
		}
		f, why := options[len(options)-1], risk(n)
		if n.Permission == "bash" {
			f = b.widest(p, options)
		}
		if why == "" {
			why = "only used together with what is risky"
		}
		if at := slices.IndexFunc(rules, func(r Rule) bool { return r.Permission == f.permission && r.Pattern == f.text }); at < 0 {
			rules = append(rules, Rule{Rule: f.rule(), Calls: calls(f, p, risky), Risk: why})
		}
	}
	sort.Slice(rules, func(i, j int) bool {
		a, b := &rules[i], &rules[j]
		return cmp.Or(cmp.Compare(a.Permission, b.Permission), cmp.Compare(a.Pattern, b.Pattern)) < 0
	})
	return rules
}

// widest returns the first pattern, or the last one, that allows no denied call beside a
// profile.
func (b *builder) widest(p permission.Profile, options []pattern) pattern {
	for _, f := range options {
		with := p.Clone()
		with.Rules = append(with.Rules, f.rule())
		if !slices.ContainsFunc(b.denied, func(c Call) bool { return !permitsCall(p, c) && permitsCall(with, c) }) {
			return f
		}
	}
	return options[len(options)-1]
}

// protections returns rules that deny the protected files that globs of edited files match.
func protections(found []pattern) []Rule {
	preset, _ := permission.Preset("edit")
	var out []Rule
	for _, r := range preset.Rules {
		name := path.Base(r.Pattern)
		if !r.Protects || name == "**" {
			continue
		}
		r.Source, r.Preset, r.Protects = Name, false, false
		matched := slices.ContainsFunc(found, func(f pattern) bool {
			dir, wild := strings.CutSuffix(f.text, "/*"+path.Ext(f.text))
			return f.permission == "edit" && wild && permission.Match(f.text, dir+"/"+name) && permission.Match(r.Pattern, dir+"/"+name)
		})
		if matched {
			out = append(out, Rule{Rule: r})
		}
	}
	return out
}
