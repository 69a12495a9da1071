package opencode

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// ErrNotFound is returned for a directory without a configuration of OpenCode.
var ErrNotFound = errors.New("no opencode.json, opencode.jsonc or .opencode found")

// Convert returns a manifest equivalent to the configuration in a directory,
// with one task to fill in, and notes, each with FILE:LINE, about what has no
// counterpart or needs the user. The manifest is meant for the same directory. A
// restriction that can't be converted is an error.
func Convert(dir string, known Known) (manifest []byte, notes []string, err error) {
	config, err := read(dir)
	if err != nil {
		return nil, nil, err
	}
	found := config != nil
	if !found {
		config = &node{}
	}
	c := newConverter(dir, known, config)
	c.guard.examine()
	c.directory()
	agentFiles, commandFiles := c.agentDirectories(), len(markdown(dir, commandDirs)) > 0
	toolFiles, plugins := scripts(dir, "tool", "tools"), scripts(dir, "plugin", "plugins")
	if _, err := os.Stat(filepath.Join(dir, ".opencode")); !found && err != nil {
		return nil, nil, fmt.Errorf("%w in %s", ErrNotFound, dir)
	}
	m := newMapping()
	m.set("version", plain("1"), "")
	c.model(m, config.get("model"), "no model of opencode.json can be used: choose one")
	rules := slices.Concat(rights(config), c.off)
	c.explain(config, rules)
	global := c.profile(rules)
	c.check(global, global.decider(profile{}))
	profiles := newMapping()
	if global.empty() {
		m.set("profile", text(base), "")
	} else {
		m.set("profile", text(own), "")
		profiles.set(own, global.node.node, "")
	}
	c.instructions(m, config.get("instructions"))
	agents := c.agents(config, profiles, global)
	if !profiles.empty() {
		m.set("profiles", profiles.node, "")
	}
	if providers := c.providers.endpoints(); !providers.empty() {
		m.set("providers", providers.node, "")
	}
	if agentFiles != nil {
		m.set("agents_from", list(agentFiles...), "")
	}
	if !agents.empty() {
		m.set("agents", agents.node, "")
	}
	if commands := c.commands(config.get("command")); !commands.empty() {
		m.set("commands", commands.node, "use one as command: NAME, arguments: TEXT of a task")
	}
	if commandFiles {
		m.set("commands_from", list(".opencode"), "and use one as command: NAME, arguments: TEXT of a task")
	}
	if len(toolFiles) > 0 {
		m.set("tools_from", list(".opencode"), "and allow their tools by name in the profile")
	}
	packages := c.plugins(m, plugins, config.get("plugin"))
	c.rest(m, config)
	c.webDefault((&node{at: config.at}).or(&node{at: ".opencode"}), rules)
	task := newMapping()
	task.set("id", text("task"), "")
	task.set("prompt", text("Describe what to do."), "and add verify: [COMMAND] with the commands that must succeed")
	c.defaultAgent(task, config, agents)
	m.set("tasks", sequence(task.node), packages)
	if err := c.guard.stopped(); err != nil {
		return nil, c.texts, err
	}

	var out bytes.Buffer
	out.WriteString("# Made from OpenCode's configuration by millhand init --from-opencode.\n")
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(m.node); err != nil {
		return nil, nil, fmt.Errorf("write the manifest: %w", err)
	}
	return out.Bytes(), c.texts, nil
}

// instructions converts the files with instructions. A file that does not exist would be an error in a manifest; a glob
// without a match is not.
func (c *converter) instructions(m mapping, n *node) {
	var files []string
	for _, item := range n.items {
		name := item.text()
		switch {
		case strings.Contains(name, "://"), strings.HasPrefix(name, "~"):
			c.note(item, "instructions %q are not converted: only files beside the manifest are read", name)
			continue
		case name == "AGENTS.md" || name == "CLAUDE.md":
			continue // every session gets them anyway
		}
		info, err := os.Stat(filepath.Join(c.dir, name))
		if (err != nil || !info.Mode().IsRegular()) && !strings.ContainsAny(name, "*?[{") {
			c.note(item, "instructions %q are not converted: no such file", name)
			continue
		}
		files = append(files, name)
	}
	if len(files) > 0 {
		m.set("instructions", list(files...), "")
	}
}
