package opencode

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
)

// rule is one rule of OpenCode. The last one that matches decides.
type rule struct {
	name, pattern string // both with wildcards
	allow         bool   // ask denies, because nobody can be asked
	asked         bool
	action        bool // of a list of OpenCode 2, whose names for bash and task are shell and subagent
	at            *node
}

// rights returns the rules of the configuration or of an agent, in their order.
func rights(owner *node) []rule {
	if owner.ordered {
		return owner.rules
	}
	return slices.Concat(mapped(owner), listed(owner))
}

// rootInOrder returns the rules of a file that only OpenCode 2 accepts: those of tools, permission and permissions, one
// after another.
func rootInOrder(root *node) []rule {
	var all []rule
	for _, key := range []string{"tools", "permission"} {
		all = append(all, mapped(&node{object: true, fields: map[string]*node{key: root.get(key)}})...)
	}
	return slices.Concat(asActions(all), listed(root))
}

// agentInOrder returns the rules of an agent of such a file. OpenCode 2 reads only the list of one in agents, and not that of one
// in agent; what the others deny is denied here, too.
func agentInOrder(agent *node) []rule {
	allows := func(r rule) bool { return r.allow }
	mapped, listed := asActions(mapped(agent)), listed(agent)
	if agent.second {
		mapped = slices.DeleteFunc(mapped, allows)
	} else {
		listed = slices.DeleteFunc(listed, allows)
	}
	return slices.Concat(mapped, listed)
}

// asActions gives rules the names of OpenCode 2, which knows the names bash and task of OpenCode 1, but not wildcards that
// match them.
func asActions(rules []rule) []rule {
	for i := range rules {
		r := &rules[i]
		r.action = true
		if others := otherNames(r.name); len(others) == 1 {
			r.name = others[0]
		}
	}
	return rules
}

// mapped returns the rules of the keys tools and permission of OpenCode 1. A tool's switch keeps its position
// if permission has the same key, whose value replaces it: OpenCode merges the two mappings.
func mapped(owner *node) []rule {
	var names []string
	values := map[string]*node{}
	put := func(name string, v *node) {
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = v
	}
	tools, granted := owner.get("tools"), owner.get("permission")
	for _, tool := range tools.keys {
		put(switchOf(tool), tools.get(tool))
	}
	if granted.value != nil {
		put("*", granted)
	}
	for _, name := range granted.keys {
		put(name, granted.get(name))
	}
	var all []rule
	for _, name := range names {
		v := values[name]
		if !v.object {
			all = append(all, newRule(name, "*", v))
			continue
		}
		for _, pattern := range v.keys {
			all = append(all, newRule(name, pattern, v.get(pattern)))
		}
	}
	return all
}

// newRule returns a rule with the effect that a value states. One that states none denies.
func newRule(name, pattern string, effect *node) rule {
	return rule{
		name: name, pattern: pattern, at: effect,
		allow: effect.text() == "allow" || effect.is(true), asked: effect.text() == "ask",
	}
}

// switchOf returns the permission of the switch of a tool.
func switchOf(tool string) string {
	switch tool {
	case "write", "patch", "multiedit":
		return "edit"
	}
	return tool
}

// listed returns the rules of the key permissions of OpenCode 2.
func listed(owner *node) []rule {
	var all []rule
	for _, item := range owner.get("permissions").items {
		r := newRule(item.get("action").text(), item.get("resource").text(), item.get("effect"))
		r.action, r.at = true, item
		all = append(all, r)
	}
	return all
}

// otherNames returns the name of a permission in OpenCode 2, or those of the tools that it is for in OpenCode 1.
func otherNames(name string) []string {
	if name == "edit" {
		return []string{"write", "patch", "multiedit", "apply_patch"}
	}
	if other := permission.OpenCodeName(name); other != "" {
		return []string{other}
	}
	return nil
}

// covers reports whether a rule is for a permission. A rule that denies is also for what it names otherwise:
// under another name of a tool, or in other letters.
func (r rule) covers(name string) bool {
	exact, others := name, otherNames(name)
	if r.action && len(others) == 1 {
		exact = others[0]
	}
	switch {
	case permission.Match(r.name, exact), !r.action && len(others) == 1 && r.name == others[0]:
		return true
	case r.allow:
		return false
	}
	lower := strings.ToLower(r.name)
	return permission.Match(lower, name) || slices.ContainsFunc(others, func(other string) bool { return permission.Match(lower, other) })
}

// everything reports whether a pattern matches everything.
func everything(pattern string) bool { return pattern != "" && strings.Trim(pattern, "*") == "" }

// sum is the result of the rules of one permission: the last rule for everything, if there is one, and those after it.
type sum struct {
	all  *rule
	rest []rule
	by   bool // rules that allow everything name the permission, not only "*"
}

// sumOf returns the rules that decide about a permission. Rules that never decide are left out.
func sumOf(rules []rule, covers func(rule) bool) sum {
	var s sum
	for i, r := range rules {
		switch {
		case !covers(r) || r.pattern == "":
		case everything(r.pattern):
			s.by = r.allow && (!everything(r.name) || s.by && s.all != nil && s.all.allow)
			s.all, s.rest = &rules[i], nil
		default:
			s.rest = append(slices.DeleteFunc(s.rest, func(old rule) bool { return old.pattern == r.pattern }), r)
		}
	}
	return s
}
