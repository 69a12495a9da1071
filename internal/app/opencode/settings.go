package opencode

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// rest converts the settings that have the same meaning, and notes the keys that nothing
// has converted.
func (c *converter) rest(m mapping, config *node) {
	for _, key := range config.keys {
		n := config.get(key)
		switch key {
		case "mcp":
			c.servers.convert(m, n)
		case "lsp":
			c.languages(m, n)
		case "formatter":
			c.absent(key, n)
		case "experimental":
			c.experimental(m, n)
		case "tool_output":
			c.toolOutput(m, n)
		case "skills":
			c.skills(m, n)
		default:
			if harmless[key] != "" && key != "$schema" {
				c.note(n, "%s has no counterpart", key)
			}
		}
	}
}

// absent notes the entries of a key that is not supported; nothing if there are none.
func (c *converter) absent(key string, n *node) {
	var names []string
	for _, name := range n.keys {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, item := range n.items {
		if name := item.text(); name != "" {
			names = append(names, name)
		}
	}
	switch {
	case names != nil:
		c.note(n, "%s not converted: %s; see docs/opencode.md", key, strings.Join(names, ", "))
	case n.is(true):
		c.note(n, "%s not converted; see docs/opencode.md", key)
	}
}

func (c *converter) experimental(m mapping, n *node) {
	for _, key := range n.keys {
		switch v := n.get(key); {
		case key == "batch_tool" && v.is(true):
			m.set("batch", plain("true"), "")
		case key == "batch_tool" && v.is(false), key == "continue_loop_on_deny" && v.is(true): // as here
		default:
			c.note(v, "experimental.%s has no counterpart", key)
		}
	}
}

func (c *converter) toolOutput(m mapping, n *node) {
	limits := newMapping()
	for _, key := range n.keys {
		name, most := "lines", 1_000_000
		switch v := n.get(key); key {
		case "max_bytes":
			name, most = "bytes", 10<<20
			fallthrough
		case "max_lines":
			if count := v.count(); count >= 1 && count <= most {
				limits.set(name, plain(strconv.Itoa(count)), "")
			} else {
				c.note(v, "tool_output.%s is not converted: write %s: N below tool_output, from 1 to %d", key, name, most)
			}
		default:
			c.note(v, "tool_output.%s has no counterpart", key)
		}
	}
	if !limits.empty() {
		m.set("tool_output", limits.node, "")
	}
}

// skills converts the directories of skills that exist: others would be errors in a
// manifest.
func (c *converter) skills(m mapping, n *node) {
	var dirs []string
	for _, key := range n.keys {
		v := n.get(key)
		switch key {
		case "paths":
			for _, item := range v.items {
				name := item.text()
				if info, err := os.Stat(filepath.Join(c.dir, name)); err == nil && info.IsDir() && !filepath.IsAbs(name) && name != "" {
					dirs = append(dirs, name)
				} else {
					c.note(item, "skills.paths %q is not converted: only directories that exist, relative to the manifest, are; write others as skills: [DIR]", name)
				}
			}
		case "urls":
			for _, item := range v.items {
				c.note(item, "skills.urls %q is not converted: nothing is downloaded; copy the skills, and write skills: [DIR]", item.text())
			}
		default:
			c.note(v, "skills.%s has no counterpart", key)
		}
	}
	if !n.object {
		c.note(n, "skills is not converted: write skills: [DIR]")
	}
	if dirs != nil {
		m.set("skills", list(dirs...), "")
	}
}

// count returns an integer, and -1 for other values.
func (n *node) count() int {
	if i, err := strconv.ParseInt(n.number(), 10, 64); err == nil && i >= 0 && i <= math.MaxInt32 {
		return int(i)
	}
	return -1
}
