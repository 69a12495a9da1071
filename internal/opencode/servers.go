package opencode

import (
	"regexp"
	"strings"
)

// serverName is the form of a server's name in a manifest.
var serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// servers converts the MCP servers that are processes. Values of their environment that are not
// from variables may be keys, and are not copied.
func (c *converter) servers(m mapping, n *node) {
	all := newMapping()
	for _, name := range n.keys {
		s := n.get(name)
		command := s.get("command").items
		switch {
		case !serverName.MatchString(name):
			c.note(s, "mcp.%s is not converted: a name has up to 32 letters, digits, _ and -", name)
			continue
		case s.get("type").text() == "remote" || s.get("url").text() != "":
			c.note(s, "mcp.%s is not converted: servers over HTTP are not supported yet", name)
			continue
		case len(command) == 0:
			c.note(s, "mcp.%s is not converted: it has no command", name)
			continue
		}
		var words []string
		for _, w := range command {
			words = append(words, w.text())
		}
		server := newMapping()
		server.set("command", list(words...), "")
		c.serverEnvironment(server, name, s.get("environment"))
		if s.get("enabled").is(false) {
			server.set("enabled", plain("false"), "")
		}
		if ms := s.get("timeout").number(); ms != "" {
			server.set("timeout", plain(ms), "")
		}
		for _, key := range s.keys {
			switch key {
			case "type", "command", "environment", "enabled", "timeout":
			default:
				c.note(s.get(key), "mcp.%s.%s has no counterpart", name, key)
			}
		}
		all.set(name, server.node, "")
		c.note(s, "mcp.%s has no network and may be called by no profile: add network: [HOST] to it, and %s_*: allow to the profile", name, name)
	}
	if !all.empty() {
		m.set("mcp", all.node, "")
	}
}

// serverEnvironment converts the variables of a server that name others.
func (c *converter) serverEnvironment(server mapping, name string, n *node) {
	env := newMapping()
	for _, key := range n.keys {
		value := n.get(key).text()
		if !strings.Contains(value, "{env:") {
			c.note(n.get(key), "mcp.%s.environment.%s is not converted, as its value could be a key: write it yourself, or ${{ env.NAME }}", name, key)
			continue
		}
		env.set(key, text(value), "")
	}
	if !env.empty() {
		server.set("environment", env.node, "")
	}
}
