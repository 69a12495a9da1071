package opencode

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/text/redact"
)

// serverName is the form of a server's name in a manifest.
var serverName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)
})

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
	case !serverName().MatchString(name):
		return "a name has up to 32 letters, digits, _ and -"
	case remote && s.get("url").text() == "":
		return "it has no URL"
	case !remote && len(s.get("command").items) == 0:
		return "it has no command"
	}
	return ""
}

func isRemote(s *node) bool { return s.get("type").text() == "remote" || s.get("url").text() != "" }

// servers converts the MCP servers of a configuration.
type servers struct{ *notes }

// convert adds the servers to a manifest.
func (c servers) convert(m mapping, n *node) {
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
			known = append(known, c.remote(server, name, s)...)
		} else {
			known = append(known, c.local(server, name, s)...)
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
	}
	if !all.empty() {
		m.set("mcp", all.node, "")
	}
}

// remote converts the keys of a server over HTTP, and returns their names.
func (c servers) remote(server mapping, name string, s *node) []string {
	address, query, found := strings.Cut(s.get("url").text(), "?")
	if found && query != "" {
		c.note(s.get("url"), "mcp.%s.url is converted without its query, which could contain a key: write it yourself", name)
	}
	server.set("type", plain("remote"), "")
	server.set("url", text(address), "")
	c.variables(server, "mcp."+name, "headers", s.get("headers"))
	if slices.Contains(s.keys, "oauth") && !s.get("oauth").is(false) {
		c.note(s.get("oauth"), "mcp.%s.oauth is not converted: nobody can log in during a run; write a token in headers", name)
	}
	return []string{"url", "headers", "oauth"}
}

// local converts the keys of a server that is a process, and returns their names.
func (c servers) local(server mapping, name string, s *node) []string {
	var words []string
	for _, w := range s.get("command").items {
		words = append(words, w.text())
	}
	server.set("command", list(words...), "")
	c.variables(server, "mcp."+name, "environment", s.get("environment"))
	c.network(server, name, s)
	return []string{"command", "environment"}
}

// variables converts the variables or headers of a server. at is the server's key. Headers are copied only if
// they name variables, and variables only if they do or can't be keys.
func (c servers) variables(server mapping, at, key string, n *node) {
	all := newMapping()
	for _, one := range n.keys {
		value := n.get(one).text()
		literal := !hasVariable(value) && key != "headers" && !mayBeKey(one, value)
		if !literal && !strings.Contains(value, "{env:") {
			c.note(n.get(one), "%s.%s.%s is not converted, as its value could be a key: write it yourself, or ${{ env.NAME }}", at, key, one)
			continue
		}
		all.set(one, text(value), "")
	}
	if !all.empty() {
		server.set(key, all.node, "")
	}
}

var (
	secretName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)key|token|secret|passw|pwd|credential|licen[cs]e|auth|cookie|session|bearer|dsn|private|signature|webhook|(^|_)pat($|_)`)
	})
	secretValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`://[^/\s]*@|://\S*\?|^[0-9a-fA-F]{16,}$|^[A-Za-z0-9+_=.-]*[0-9][A-Za-z0-9+_=.-]*$`)
	})
)

// mayBeKey reports whether a variable may have a key: by its name, or by its value, which is a known form of keys, has a URL with
// credentials, or is long and looks random.
func mayBeKey(name, value string) bool {
	return value == "" || secretName().MatchString(name) || redact.New(nil).Text(value) != value ||
		secretValue().MatchString(value) && (len(value) >= 16 || strings.Contains(value, "://"))
}

// hostOf matches the host of a URL.
var hostOf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bhttps?://([A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9])(?::\d+)?(?:[/?#]|$)`)
})

// network converts what a server, which may reach everything in OpenCode, is known to need: the registry of the program that
// downloads it, and hosts that its command and its environment name.
func (c servers) network(server mapping, name string, s *node) {
	words := s.get("command").items
	var hosts []string
	switch path.Base(words[0].text()) {
	case "npx", "bunx", "npm", "pnpm", "yarn", "bun":
		hosts = []string{"npm"}
	case "uvx", "uv", "pipx":
		hosts = []string{"pypi"}
	}
	if hosts != nil {
		server.set("cache", list(hosts...), "")
	}
	for _, key := range s.get("environment").keys {
		words = append(slices.Clone(words), s.get("environment", key))
	}
	for _, word := range words {
		if m := hostOf().FindStringSubmatch(word.text()); m != nil && !slices.Contains(hosts, m[1]) {
			hosts = append(hosts, m[1])
		}
	}
	if hosts != nil {
		server.set("network", list(hosts...), "")
		c.note(s, "mcp.%s reaches only %s: add others to its network", name, strings.Join(hosts, ", "))
	} else {
		c.note(s, "mcp.%s has no network: add network: [HOST] to it", name)
	}
}
