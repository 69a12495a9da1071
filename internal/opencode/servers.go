package opencode

import (
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/lazyregexp"
)

// serverName is the form of a server's name in a manifest.
var serverName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// toolPrefixes returns the prefixes of the names of the tools of all servers that are converted and enabled.
func toolPrefixes(n *node) []string {
	var all []string
	for _, name := range n.keys {
		if s := n.get(name); unconvertible(name, s) == "" && !s.get("enabled").is(false) {
			all = append(all, name+"_")
		}
	}
	return all
}

// unconvertible returns why a manifest can't have a server; "" if it can.
func unconvertible(name string, s *node) string {
	remote := isRemote(s)
	switch {
	case !serverName.MatchString(name):
		return "a name has up to 32 letters, digits, _ and -"
	case remote && s.get("url").text() == "":
		return "it has no URL"
	case !remote && len(s.get("command").items) == 0:
		return "it has no command"
	}
	return ""
}

func isRemote(s *node) bool { return s.get("type").text() == "remote" || s.get("url").text() != "" }

// servers converts the MCP servers. Values of their environment and headers that are not from
// variables may be keys, and are not copied.
func (c *converter) servers(m mapping, n *node) {
	all := newMapping()
	for _, name := range n.keys {
		s := n.get(name)
		if why := unconvertible(name, s); why != "" {
			c.note(s, "mcp.%s is not converted: %s", name, why)
			continue
		}
		server := newMapping()
		known := []string{"type", "enabled", "timeout", "call_timeout"}
		if isRemote(s) {
			known = append(known, c.remoteServer(server, name, s)...)
		} else {
			known = append(known, c.localServer(server, name, s)...)
		}
		if s.get("enabled").is(false) {
			server.set("enabled", plain("false"), "")
		}
		server.set("optional", plain("true"), "") // a session of OpenCode continues without it
		for _, key := range []string{"timeout", "call_timeout"} {
			if ms := s.get(key).number(); ms != "" {
				server.set(key, plain(ms), "")
			}
		}
		for _, key := range s.keys {
			if !slices.Contains(known, key) {
				c.note(s.get(key), "mcp.%s.%s has no counterpart", name, key)
			}
		}
		all.set(name, server.node, "")
		if !isRemote(s) {
			c.note(s, "mcp.%s has no network: add network: [HOST] to it", name)
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
