package opencode

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/permission"
)

const (
	asked = `"ask" in OpenCode: nobody can be asked`
	// base is the preset whose rules come first. OpenCode allows what no rule
	// names, and so does build, except for web tools, files with secrets and files that steer CI and agents.
	base = "build"
	// own is the profile of the configuration's rules.
	own = "opencode"
)

// profile is a profile of the manifest.
type profile struct {
	node    mapping
	written mapping // its rules
	extends string
	rules   []rule          // the rules of OpenCode that it and the profile that it extends have
	denies  map[string]bool // permissions of which it denies more than the preset
}

// empty reports whether the profile is the preset.
func (p profile) empty() bool { return len(p.node.node.Content) <= 2 }

// profile converts rules to a profile that extends preset build.
func (c *converter) profile(rules []rule) profile {
	p, _ := c.extended(profile{}, base, rules)
	return p
}

// ofBuiltIn are the rules of OpenCode's own agents, which come before those of the configuration. An agent with a
// profile has no others.
var ofBuiltIn = map[string][]rule{
	"plan":    {{name: "edit", pattern: "*"}},
	"explore": slices.Concat([]rule{{name: "*", pattern: "*"}}, allowed("read", "grep", "glob", "list", "bash", "webfetch", "websearch", "codesearch")),
}

func allowed(names ...string) (all []rule) {
	for _, name := range names {
		all = append(all, rule{name: name, pattern: "*", allow: true})
	}
	return all
}

// agentProfile converts the rules of an agent, which follow those of the configuration. It extends the
// configuration's profile, or has the rules of both if that profile denies what the agent's rules allow again.
func (c *converter) agentProfile(name string, parent profile, rules []rule) profile {
	if own := ofBuiltIn[name]; own != nil {
		return c.profile(slices.Concat(own, parent.rules, rules))
	}
	if !parent.empty() {
		if p, ok := c.extended(parent, own, rules); ok {
			return p
		}
	}
	return c.profile(slices.Concat(parent.rules, rules))
}

// extended adds rules to a profile. A rule that allows everything is left out if nothing before it in the result
// denies more than the preset. It fails where only leaving it out is right: to allow all edits again would
// allow those of the protected files, too.
func (c *converter) extended(parent profile, extends string, rules []rule) (p profile, ok bool) {
	p = profile{node: newMapping(), extends: extends, rules: slices.Concat(parent.rules, rules), denies: map[string]bool{}}
	names, sums := ordered(rules), map[string]sum{}
	for _, name := range names {
		sums[name] = sumOf(rules, func(r rule) bool { return r.covers(name) })
	}
	edit := sums["edit"].all
	again := edit != nil && edit.allow
	if again && parent.denies["edit"] {
		return profile{}, false
	}
	p.written = newMapping()
	at := slices.IndexFunc(names, func(name string) bool { return sums[name].starred() })
	star := at >= 0 && !again
	if star {
		effects{p.written}.add("*", *sums[names[at]].all)
	}
	for _, name := range names {
		lost := parent.denies[name] || star
		effects := patterns(name, sums[name], lost, star)
		p.denies[name] = lost || effects.denies()
		effects.write(p.written, name)
	}
	special(p.written, rules)
	c.serverRules(p.written, parent.rules, p.rules, extends == own, star)
	p.node.set("extends", text(extends), "")
	if !p.written.empty() {
		p.node.set("permission", p.written.node, "")
	}
	return p, true
}

// toolNames returns the permissions of built-in tools, except questions, which nobody answers.
func toolNames() []string {
	return slices.DeleteFunc(permission.Known(), func(name string) bool {
		return slices.Contains([]string{permission.DoomLoop, permission.ExternalDirectory, permission.ExternalRead, permission.Git}, name) || permission.RequiresUser(name)
	})
}

// ordered returns the permissions of tools, those first that rules name, in the order of the rules.
func ordered(rules []rule) []string {
	names := toolNames()
	first := func(name string) int {
		if i := slices.IndexFunc(rules, func(r rule) bool { return !everything(r.name) && r.covers(name) }); i >= 0 {
			return i
		}
		return math.MaxInt
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(first(a), first(b)) })
	return names
}

// starred reports whether a rule for all permissions denies everything.
func (s sum) starred() bool { return s.all != nil && !s.all.allow && everything(s.all.name) }

// web returns the permissions that no rule for "*" allows here: what they reach has to be named.
func web() []string { return permission.AllowedFrom("full") }

// patterns returns the rules of a profile for a permission. lost is set if rules before them deny what the preset
// allows, and star if those are "*": deny.
func patterns(name string, s sum, lost, star bool) effects {
	e := effects{newMapping()}
	switch {
	case s.all == nil, s.starred() && star:
	case !s.all.allow:
		e.add("*", *s.all)
	case slices.Contains(web(), name):
		if s.by {
			e.add("*", *s.all)
		}
	case lost:
		e.add("*", *s.all)
		if name == "read" { // as in the preset
			for _, r := range []rule{{pattern: "*.env"}, {pattern: "*.env.*"}, {pattern: "*.env.example", allow: true}} {
				e.add(r.pattern, r)
			}
		}
	}
	for _, r := range s.rest {
		e.add(r.pattern, r)
	}
	return e
}

// special adds the rules of the permissions that "*" does not grant here.
func special(written mapping, rules []rule) {
	for _, name := range []string{permission.ExternalDirectory, permission.DoomLoop} {
		s := sumOf(rules, func(r rule) bool { return r.covers(name) && !(r.allow && everything(r.name)) })
		e := effects{newMapping()}
		switch {
		case s.all == nil, s.starred():
		case s.all.allow && name == permission.ExternalDirectory:
		default:
			e.add("*", *s.all)
		}
		for _, r := range s.rest {
			e.add(r.pattern, r)
		}
		e.write(written, name)
	}
}

// effects is a mapping from patterns to effects.
type effects struct{ mapping }

// add adds the effect of a rule on a pattern, which replaces an earlier one.
func (e effects) add(pattern string, r rule) {
	if at := slices.Index(keys(e.mapping), pattern); at >= 0 {
		e.node.Content = slices.Delete(e.node.Content, 2*at, 2*at+2)
	}
	effect := "deny"
	if r.allow {
		effect = "allow"
	}
	e.set(pattern, text(effect), r.comment())
}

// comment states that a rule asks in OpenCode.
func (r rule) comment() string {
	if r.asked {
		return asked
	}
	return ""
}

func (e effects) denies() bool {
	return slices.ContainsFunc(e.node.Content, func(n *yaml.Node) bool { return n.Value == "deny" })
}

// write adds the effects of a permission to the rules of a profile.
func (e effects) write(to mapping, name string) {
	switch {
	case e.empty():
	case len(e.node.Content) == 2 && e.node.Content[0].Value == "*":
		to.set(name, e.node.Content[1], e.node.Content[1].LineComment)
	default:
		to.set(name, e.node, "")
	}
}

// explain notes the rules that are converted differently, or not.
func (c *converter) explain(owner *node, rules []rule) {
	var unknown []string
	for _, r := range rules {
		switch granted := r.allow && everything(r.pattern); {
		case granted && (everything(r.name) || r.name == permission.ExternalDirectory):
			c.note(r.at, "permission %s: allow is not converted: profile %s allows what OpenCode does by default, except external directories, *.env files and "+
				"files that steer CI and agents; name those that are needed", r.name, base)
		case granted && r.covers("read"):
			c.note(r.at, "permission %s: allow does not include *.env files; name those that are needed", r.name)
		case granted && r.covers("edit"):
			c.note(r.at, "permission %s: allow does not include files that steer CI and agents; name those that are needed", r.name)
		case granted && slices.ContainsFunc(web(), r.covers):
			c.note(r.at, "%s reaches only hosts that the profile names: add network: [HOST] (and search: for websearch and codesearch)", r.name)
		}
		if !c.recognized(r) && !slices.Contains(unknown, r.name) {
			unknown = append(unknown, r.name)
		}
	}
	if unknown != nil {
		c.note(owner, "rules are not converted for %s: no built-in tools or tools of converted MCP servers have these names", strings.Join(unknown, ", "))
	}
}

// webDefault notes that OpenCode allows webfetch where no rule names it.
func (c *converter) webDefault(owner *node, rules []rule) {
	s := sumOf(rules, func(r rule) bool { return r.covers("webfetch") })
	if s.rest == nil && (s.all == nil || s.all.allow && !s.by) {
		c.note(owner, "webfetch is denied, and allowed in OpenCode, as no rule names it: add webfetch: allow and network: [HOST] to the profile if it is needed")
	}
}

// recognized reports whether a rule is for anything that the manifest has.
func (c *converter) recognized(r rule) bool {
	covers := func(name string) bool { return r.covers(name) || permission.Match(r.name, name) }
	known := slices.DeleteFunc(permission.Known(), func(name string) bool { return name == permission.Git || name == permission.ExternalRead })
	return permission.RequiresUser(r.name) || slices.ContainsFunc(known, covers) || slices.ContainsFunc(c.tools, func(prefix string) bool { return mayName(r.name, prefix) })
}
