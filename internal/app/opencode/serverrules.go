package opencode

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// mayName reports whether a name with wildcards may match a name with this prefix.
func mayName(pattern, prefix string) bool {
	wild := strings.IndexAny(pattern, "*?")
	if wild < 0 {
		return strings.HasPrefix(pattern, prefix)
	}
	return strings.HasPrefix(pattern[:wild], prefix) || strings.HasPrefix(prefix, pattern[:wild])
}

// serverSum returns whether rules allow the tools of a server whose names start with prefix, and the later rules for some of
// them. OpenCode allows all by default. The subject of a call is always "*".
func serverSum(rules []rule, prefix string) (allow bool, some []rule) {
	allow = true
	for _, r := range rules {
		switch {
		case !permission.Match(r.pattern, "*") || !mayName(r.name, prefix):
		case permission.Match(r.name, prefix) && permission.Match(r.name, prefix+"\x01\x02"):
			allow, some = r.allow, nil
		case !slices.ContainsFunc(permission.Known(), func(name string) bool { return permission.Match(r.name, name) }):
			some = append(slices.DeleteFunc(some, func(old rule) bool { return old.name == r.name }), r)
		case !r.allow: // in a profile the wildcard would be for other tools, too
			allow, some = false, nil
		case strings.HasPrefix(r.name, "*"):
			r.name = prefix + r.name
			some = append(some, r)
		}
	}
	return allow, some
}

// serverRules adds the rules of the tools of MCP servers. The rules in parent are those of the profile that is extended, if it is,
// and star is set if rules before deny everything.
func (c *converter) serverRules(written mapping, parent, rules []rule, extended, star bool) {
	for _, prefix := range c.tools {
		allow, some := serverSum(rules, prefix)
		before, someBefore := serverSum(parent, prefix)
		same := func(a, b rule) bool { return a.name == b.name && a.allow == b.allow }
		switch {
		case extended && !star && allow == before && slices.EqualFunc(some, someBefore, same):
			continue
		case !extended && !allow && !slices.ContainsFunc(some, func(r rule) bool { return r.allow }):
			continue
		}
		effects{written}.add(prefix+"*", rule{allow: allow})
		for _, r := range some {
			effects{written}.add(r.name, r)
		}
	}
}
