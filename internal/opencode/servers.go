package opencode

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/lazyregexp"
)

// serverName is the form of a server's name in a manifest.
var serverName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// servers converts the MCP servers. Values of their environment and headers that are not from
// variables may be keys, and are not copied.
func (c *converter) servers(m mapping, n *node) {
	all := newMapping()
	for _, name := range n.keys {
		s := n.get(name)
		remote := s.get("type").text() == "remote" || s.get("url").text() != ""
		server := newMapping()
		known := []string{"type", "enabled", "timeout"}
		why := ""
		switch {
		case !serverName.MatchString(name):
			why = "a name has up to 32 letters, digits, _ and -"
		case remote && s.get("url").text() == "":
			why = "it has no URL"
		case remote:
			known = append(known, c.remoteServer(server, name, s)...)
		case len(s.get("command").items) == 0:
			why = "it has no command"
		default:
			known = append(known, c.localServer(server, name, s)...)
		}
		if why != "" {
			c.note(s, "mcp.%s is not converted: %s", name, why)
			continue
		}
		if s.get("enabled").is(false) {
			server.set("enabled", plain("false"), "")
		}
		if ms := s.get("timeout").number(); ms != "" {
			server.set("timeout", plain(ms), "")
		}
		for _, key := range s.keys {
			if !slices.Contains(known, key) {
				c.note(s.get(key), "mcp.%s.%s has no counterpart", name, key)
			}
		}
		all.set(name, server.node, "")
		if remote {
			c.note(s, "mcp.%s may be called by no profile: add %s_*: allow to the profile", name, name)
		} else {
			c.note(s, "mcp.%s has no network and may be called by no profile: add network: [HOST] to it, and %s_*: allow to the profile", name, name)
		}
	}
	if !all.empty() {
		m.set("mcp", all.node, "")
	}
}

// remoteServer converts the keys of a server over HTTP, and returns their names.
func (c *converter) remoteServer(server mapping, name string, s *node) []string {
	address, query, found := strings.Cut(s.get("url").text(), "?")
	if found && query != "" {
		c.note(s.get("url"), "mcp.%s.url is converted without its query, which could contain a key: write it yourself", name)
	}
	server.set("type", plain("remote"), "")
	server.set("url", text(address), "")
	c.serverVariables(server, "mcp."+name, "headers", s.get("headers"))
	if slices.Contains(s.keys, "oauth") && !s.get("oauth").is(false) {
		c.note(s.get("oauth"), "mcp.%s.oauth is not converted: nobody can log in during a run; write a token in headers", name)
	}
	return []string{"url", "headers", "oauth"}
}

// localServer converts the keys of a server that is a process, and returns their names.
func (c *converter) localServer(server mapping, name string, s *node) []string {
	var words []string
	for _, w := range s.get("command").items {
		words = append(words, w.text())
	}
	server.set("command", list(words...), "")
	c.serverVariables(server, "mcp."+name, "environment", s.get("environment"))
	return []string{"command", "environment"}
}

// serverVariables converts the variables or headers of a server that name variables. at is the
// server's key.
func (c *converter) serverVariables(server mapping, at, key string, n *node) {
	all := newMapping()
	for _, one := range n.keys {
		value := n.get(one).text()
		if !strings.Contains(value, "{env:") {
			c.note(n.get(one), "%s.%s.%s is not converted, as its value could be a key: write it yourself, or ${{ env.NAME }}", at, key, one)
			continue
		}
		all.set(one, text(value), "")
	}
	if !all.empty() {
		server.set(key, all.node, "")
	}
}
