package opencode

import "slices"

// commands converts the commands of the configuration.
func (c *converter) commands(n *node) mapping {
	all := newMapping()
	for _, name := range n.keys {
		v := n.get(name)
		template := c.prompt(v.get("template"))
		if template == "" || name == "" {
			c.note(v, "command %q is not converted: it has no template", name)
			continue
		}
		command := newMapping()
		if description := v.get("description").text(); description != "" {
			command.set("description", text(description), "")
		}
		if agent := v.get("agent").text(); agent != "" {
			command.set("agent", text(agentName(agent)), "")
		}
		c.model(command, v.get("model"), "")
		command.set("template", text(template), "")
		for _, key := range v.keys {
			if !slices.Contains([]string{"template", "description", "agent", "model"}, key) {
				c.note(v.get(key), "command %s: %s not converted", name, key)
			}
		}
		all.set(name, command.node, "")
	}
	return all
}
