package opencode

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// fileExtension is the form of an extension of files in a manifest.
var fileExtension = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\.[A-Za-z0-9_+.-]{1,30}$`)
})

// languages converts the language servers.
func (c *converter) languages(m mapping, n *node) {
	if n.is(true) {
		m.set("lsp", plain("true"), "")
		return
	}
	all := newMapping()
	for _, name := range n.keys {
		s := n.get(name)
		if name == "php intelephense" {
			name = "php"
		}
		server, why := c.language(name, s)
		if why != "" {
			c.note(s, "lsp.%s is not converted: %s", name, why)
			continue
		}
		all.set(name, server.node, "")
	}
	if !all.empty() {
		m.set("lsp", all.node, "")
		c.note(n, "lsp uses only the servers that it names, and downloads none; lsp: true uses the known ones that are on PATH")
	}
}

// language converts a language server; why states what prevents it.
func (c *converter) language(name string, s *node) (server mapping, why string) {
	server = newMapping()
	var command, extensions []string
	for _, w := range s.get("command").items {
		command = append(command, w.text())
	}
	for _, e := range s.get("extensions").items {
		if fileExtension().MatchString(e.text()) {
			extensions = append(extensions, e.text())
		} else {
			c.note(e, "lsp.%s.extensions %q is not converted: write an extension with its dot", name, e.text())
		}
	}
	known := c.known.LanguageServer(name)
	switch {
	case !serverName().MatchString(name):
		return server, "a name has up to 32 letters, digits, _ and -"
	case command == nil && !known:
		return server, "it has no command, and millhand has none for this name"
	case extensions == nil && !known:
		return server, "it has no extensions, and millhand has none for this name"
	case slices.ContainsFunc(command, hasVariable):
		return server, "its command contains variables"
	}
	if command != nil {
		server.set("command", list(command...), "")
	}
	if extensions != nil {
		server.set("extensions", list(extensions...), "")
	}
	c.servers.variables(server, "lsp."+name, "env", s.get("env"))
	if options := s.get("initialization"); options.object {
		if converted := c.initialization("lsp."+name+".initialization", options, 0); len(converted.Content) > 0 {
			server.set("initialization", converted, "")
		}
	}
	if s.get("disabled").is(true) {
		server.set("disabled", plain("true"), "")
	}
	for _, key := range s.keys {
		if !slices.Contains([]string{"command", "extensions", "env", "initialization", "disabled"}, key) {
			c.note(s.get(key), "lsp.%s.%s has no counterpart", name, key)
		}
	}
	return server, ""
}

// hasVariable reports whether a text refers to a variable or a file.
func hasVariable(text string) bool {
	return strings.Contains(text, "{env:") || strings.Contains(text, "{file:") || strings.Contains(text, "${{")
}

// secretOption matches the names of options that may be keys.
var secretOption = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)key|token|secret|password|credential|licen[cs]e`)
})

// maxDepth is how deeply options of a server may be nested.
const maxDepth = 20

// initialization converts the options of a server, except those that may be keys or refer to
// variables.
func (c *converter) initialization(name string, n *node, depth int) *yaml.Node {
	switch {
	case n.object:
		all := newMapping()
		for _, key := range n.keys {
			if v, at := n.get(key), name+"."+key; c.convertible(at, v, depth) {
				all.set(key, c.initialization(at, v, depth+1), "")
			}
		}
		return all.node
	case n.list:
		all := sequence()
		for _, item := range n.items {
			if c.convertible(name, item, depth) {
				all.Content = append(all.Content, c.initialization(name, item, depth+1))
			}
		}
		return all
	case n.value.Kind() == '"':
		return text(n.text())
	}
	return plain(string(n.value))
}

// convertible reports whether an option can be in a manifest, and notes why not.
func (c *converter) convertible(name string, v *node, depth int) bool {
	switch {
	case v.text() != "" && secretOption().MatchString(name[strings.Index(name, ".initialization."):]):
		c.note(v, "%s is not converted, as its value could be a key", name)
	case hasVariable(v.text()):
		c.note(v, "%s is not converted: options can't contain variables", name)
	case depth == maxDepth && (v.object || v.list):
		c.note(v, "%s is not converted: options are nested too deeply", name)
	default:
		return true
	}
	return false
}
