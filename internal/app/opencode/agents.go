package opencode

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// builtIn are the agents that millhand and OpenCode have without a definition.
var builtIn = []string{"build", "plan", "explore", "general"}

// defaultAgent sets the agent of the task. That of an agent that is not found may only
// read: build could do what the agent forbids.
func (c *converter) defaultAgent(task mapping, config *node, agents mapping) {
	n := config.get("default_agent")
	name := cmp.Or(n.text(), "build")
	if off := config.get("agent", name, "disable"); name == "build" && !off.is(true) {
		return
	} else if name == "build" {
		n = off
	}
	found := slices.Contains(builtIn, name) || slices.Contains(keys(agents), agentName(name)) || c.inMarkdown(name)
	if disabled := config.get("agent", name, "disable").is(true); found && !disabled {
		if c.inMarkdown(name) {
			name = path.Base(name)
		}
		task.set("agent", text(agentName(name)), "")
		return
	}
	task.set("profile", text("readonly"), "default_agent "+strconv.Quote(name)+" is not found: choose the agent and its profile")
	c.note(n, "default_agent %q is not converted: no such agent is defined here; the task has the profile readonly", name)
}

// off returns the rules for subagents that millhand has without a definition, and the configuration switches off.
func off(config *node) (rules []rule) {
	for _, name := range []string{"explore", "general"} {
		if n := config.get("agent", name, "disable"); n.is(true) {
			rules = append(rules, rule{name: "task", pattern: name, at: n})
		}
	}
	return rules
}

// inMarkdown reports whether an agent also has a Markdown file. In OpenCode the name of one in a subdirectory contains it.
func (c *converter) inMarkdown(name string) bool {
	return slices.ContainsFunc(markdown(c.dir, agentDirs), func(file string) bool {
		_, below, _ := strings.Cut(strings.TrimPrefix(file, ".opencode/"), "/")
		return below == name+".md"
	})
}

// model sets the model, or one to be replaced if there must be one.
func (c *converter) model(m mapping, n *node, otherwise string) {
	id, variant, _ := strings.Cut(n.text(), "#")
	if id != "" {
		if variant != "" {
			c.note(n, "variant %q of model %q is not converted: write effort: LEVEL", variant, id)
		}
		name, rest, ok := strings.Cut(id, "/")
		if known, _ := c.providers.endpoint(name); ok && known != "" && served(c.providers.defined, name, rest) {
			c.guard.usable(id)
			m.set("model", text(known+"/"+c.providers.sent(name, rest)), "")
			return
		}
		if served(c.providers.defined, name, rest) {
			c.note(n, "model %q is not converted: millhand has no provider %q, and the configuration defines no endpoint for it", id, name)
		} else {
			c.note(n, "model %q is not converted: millhand calls only Anthropic's models of %s", id, name)
		}
	}
	if otherwise != "" {
		c.guard.usable("openai/gpt-5-mini")
		m.set("model", text("openai/gpt-5-mini"), otherwise)
	}
}

// unsafeName is what the name of an agent can't contain here.
var unsafeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_.-]+`) })

func agentName(s string) string { return strings.Trim(unsafeName().ReplaceAllString(s, "-"), "-.") }

// agents converts agents, and adds the profile of each that has rules.
func (c *converter) agents(config *node, profiles mapping, global profile) mapping {
	all := newMapping()
	for _, section := range []string{"mode", "agent"} {
		for _, name := range config.get(section).keys {
			n := config.get(section, name)
			switch {
			case c.inMarkdown(name) && c.restricted(n):
				c.guard.stop(n, "agent %s also has a Markdown file, which would be used alone: move the rules there", name)
				continue
			case n.get("disable").is(true):
				continue
			case name == "title" || name == "summary" || name == "compaction":
				c.note(n, "agent %s is not converted: millhand has none for this", name)
				continue
			case c.inMarkdown(name):
				c.note(n, "agent %s is taken from its Markdown file alone; what this adds to it is not converted", name)
				continue
			case agentName(name) != name:
				c.note(n, "agent %q is named %s", name, agentName(name))
			}
			if slices.Contains(keys(all), agentName(name)) {
				c.guard.stop(n, "agent %q is defined twice as %s", name, agentName(name))
				continue
			}
			if a := c.agent(agentName(name), n, section, profiles, global); !a.empty() {
				all.set(agentName(name), a.node, "")
			}
		}
	}
	return all
}

// restricted reports whether an agent has rights of its own, or is disabled.
func (c *converter) restricted(n *node) bool {
	return slices.ContainsFunc([]string{"permission", "permissions", "tools", "steps", "maxSteps"}, func(key string) bool { return n.get(key).at != "" }) || n.get("disable").is(true)
}

func (c *converter) agent(name string, n *node, section string, profiles mapping, global profile) mapping {
	a := newMapping()
	known := slices.Contains(builtIn, name)
	switch description := n.get("description").text(); {
	case description != "":
		a.set("description", text(description), "")
	case !known:
		a.set("description", text("The agent "+name+"."), "")
	}
	mode := n.get("mode").text()
	if section == "mode" {
		mode = "primary"
	}
	if mode == "primary" || mode == "subagent" || mode == "all" {
		a.set("mode", text(mode), "")
	}
	c.model(a, n.get("model"), "")
	if t := n.get("temperature").number(); t != "" {
		a.set("temperature", plain(t), "")
	}
	for _, key := range []string{"steps", "maxSteps"} { // OpenCode's order
		if turns := n.get(key).number(); turns != "" {
			a.set("turns", plain(turns), "")
			break
		}
	}
	if rules := rights(n); rules != nil {
		c.explain(n, rules)
		p := c.agentProfile(name, global, slices.Concat(rules, c.off))
		c.check(p, p.decider(global))
		if !p.empty() {
			profiles.set("agent-"+name, p.node.node, "")
			a.set("profile", text("agent-"+name), "")
		}
	}
	if prompt := c.prompt(n.get("prompt")); prompt != "" {
		a.set("prompt", text(prompt), "")
	} else if !known {
		a.set("prompt", text("You are the agent "+name+"."), "opencode.json has no prompt for it")
	}
	var left []string
	for _, key := range n.keys {
		switch key {
		case "description", "mode", "model", "temperature", "maxSteps", "steps", "permission", "permissions", "tools", "prompt", "disable":
		default:
			left = append(left, key)
		}
	}
	if left != nil {
		c.note(n, "agent %s: %s not converted", name, strings.Join(left, ", "))
	}
	return a
}

var fileReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{file:([^}]+)\}`) })

// prompt returns a prompt with the text of the files that it refers to.
func (c *converter) prompt(n *node) string {
	return fileReference().ReplaceAllStringFunc(n.text(), func(s string) string {
		name := strings.TrimSpace(fileReference().FindStringSubmatch(s)[1])
		root, err := os.OpenRoot(c.dir)
		if err == nil {
			defer root.Close()
			var data []byte
			if data, err = readFileIn(root.FS(), filepath.ToSlash(filepath.Clean(name))); err == nil {
				return strings.TrimSpace(string(data))
			}
		}
		c.note(n, "the prompt's file %q is not converted: it can't be read below %s", name, c.dir)
		return ""
	})
}
