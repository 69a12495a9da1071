package opencode

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/permission"
)

const (
	asked = `"ask" in OpenCode: nobody can be asked`
	// base is the preset whose rules come first. OpenCode allows what no rule
	// names, and so does build, except for files that steer CI and agents.
	base = "build"
)

// profile converts the rules of a configuration or an agent to the rules of a
// profile: first the switches of tools, then the permissions, as OpenCode does.
// An action that the rules before have is left out.
func (c *converter) profile(owner *node, extends string) mapping {
	c.at, c.switched = owner, nil
	rules := newMapping()
	tools := owner.get("tools")
	for _, wildcards := range []bool{false, true} {
		for _, tool := range tools.keys {
			if tools.get(tool).is(false) && strings.ContainsAny(tool, "*?") == wildcards {
				c.rule(rules, tool, text("deny"), "")
			}
		}
		if !wildcards {
			c.switched = keys(rules)
		}
	}
	rights := owner.get("permission")
	if action := rights.text(); action != "" {
		c.action(rules, "*", action, extends == base, rights)
	}
	for _, name := range rights.keys {
		v := rights.get(name)
		if !v.object {
			c.action(rules, name, v.text(), extends == base, v)
			continue
		}
		patterns, comment := newMapping(), ""
		for _, pattern := range v.keys {
			action := v.get(pattern).text()
			if action == "ask" {
				action, comment = "deny", asked
			}
			if action == "allow" || action == "deny" {
				patterns.set(pattern, text(action), comment)
			}
			comment = ""
		}
		if !patterns.empty() {
			c.rule(rules, name, patterns.node, "")
		}
	}
	if c.unknown != nil {
		c.note(owner, "rules are not converted for %s: no built-in tools have these names (tools of MCP servers or plugins?)", strings.Join(c.unknown, ", "))
		c.unknown = nil
	}
	profile := newMapping()
	profile.set("extends", text(extends), "")
	if !rules.empty() {
		profile.set("permission", rules.node, "")
	}
	return profile
}

// action adds a rule for everything that a permission covers.
func (c *converter) action(rules mapping, name, action string, allowed bool, v *node) {
	switch {
	case action == "ask":
		c.rule(rules, name, text("deny"), asked)
	case action == "deny":
		c.rule(rules, name, text("deny"), "")
	case action != "allow": // rights has refused it
	case name == "external_directory" || name == "*" && allowed:
		// It would also allow what the preset protects: the user must name it.
		c.note(v, "permission %s: allow is not converted: profile %s allows what OpenCode does by default, except external directories and files that steer CI and agents; name those that are needed", name, base)
	case allowed && slices.Contains([]string{"edit", "bash", "read", "list", "glob", "grep", "task", "todowrite", "todoread", "skill", "lsp", "write", "patch"}, name):
	default:
		c.rule(rules, name, text("allow"), "")
		if name == "webfetch" || name == "websearch" || name == "codesearch" {
			c.note(v, "%s reaches only hosts that the profile names: add network: [HOST] (and search: for websearch and codesearch)", name)
		}
	}
}

// alias returns millhand's name of a permission.
func alias(name string) string {
	switch name {
	case "write", "patch", "multiedit", "apply_patch":
		return "edit"
	case "shell":
		return "bash"
	case "subagent":
		return "task"
	}
	if lower := strings.ToLower(name); slices.Contains(permission.Known(), lower) {
		return lower
	}
	return name
}

// rule adds a rule under millhand's name of a permission. What a wildcard or another name of a tool denies is added to the
// rules of each tool that it may mean; what they allow is left out.
func (c *converter) rule(rules mapping, name string, value *yaml.Node, comment string) {
	known := alias(name)
	switch {
	case name == "question" || permission.RequiresUser(name): // nobody can be asked anyway
	case name == "*" || known == name && slices.Contains(permission.Known(), name):
		c.set(rules, name, value, comment)
	default:
		matched := false
		for _, tool := range append(permission.Known(), "write", "patch", "shell", "subagent", known) {
			if tool == known || permission.Match(name, tool) {
				if tool = alias(tool); !slices.Contains(permission.Known(), tool) {
					continue
				}
				matched = true
				if denied := denials(value); denied != nil {
					c.set(rules, tool, denied, comment)
				}
			}
		}
		if !matched {
			c.unknown = append(c.unknown, name)
		}
	}
}

// set adds a rule, after those that the permission has. It replaces the switch of a tool.
func (c *converter) set(rules mapping, name string, value *yaml.Node, comment string) {
	all := keys(rules)
	at := slices.Index(all, name)
	if at < 0 {
		rules.set(name, value, comment)
		return
	}
	switched := slices.Index(c.switched, name)
	if switched >= 0 {
		c.switched = slices.Delete(c.switched, switched, switched+1)
	} else if slices.Contains(all[at:], "*") && name != "*" {
		c.guard.stop(c.at, "rules for %s before and after those for *: write them together", name)
		return
	}
	to := &rules.node.Content[2*at+1]
	if value.Kind == yaml.ScalarNode {
		value.LineComment = comment
	} else if switched < 0 {
		value = overlaid(*to, value)
	}
	*to = value
}

// overlaid returns the rules of a permission with later ones.
func overlaid(before, later *yaml.Node) *yaml.Node {
	all := newMapping()
	if before.Kind == yaml.ScalarNode {
		all.set("*", before, before.LineComment)
	} else {
		all.node.Content = slices.Clone(before.Content)
	}
	for i := 0; i < len(later.Content); i += 2 {
		if at := slices.Index(keys(all), later.Content[i].Value); at >= 0 { // the later rule counts
			all.node.Content = slices.Delete(all.node.Content, 2*at, 2*at+2)
		}
		all.node.Content = append(all.node.Content, later.Content[i], later.Content[i+1])
	}
	return all.node
}

// denials returns a copy of the rules of a permission that deny; nil if none does.
func denials(value *yaml.Node) *yaml.Node {
	if value.Kind == yaml.ScalarNode {
		if value.Value != "deny" {
			return nil
		}
		return text("deny")
	}
	denied := newMapping()
	for i := 0; i < len(value.Content); i += 2 {
		if v := value.Content[i+1]; v.Value == "deny" {
			denied.set(value.Content[i].Value, text("deny"), v.LineComment)
		}
	}
	if denied.empty() {
		return nil
	}
	return denied.node
}

// note records what was not converted, and where it is written.
func (c *converter) note(n *node, format string, args ...any) {
	c.notes = append(c.notes, strings.TrimSpace(n.at+": "+fmt.Sprintf(format, args...)))
}
