package opencode

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/millhand/millhand/internal/text/frontmatter"
)

// harmless are the keys of OpenCode, in the form of OpenCode 1, that are not converted and can't restrict an agent, with what they are for. The
// conversion stops at keys that are neither converted nor listed here: to pass over one that restricts would give an
// agent more permissions than it has in OpenCode.
var harmless = map[string]string{
	"$schema": "editors", "theme": "colours", "keybinds": "keys of the terminal interface", "tui": "terminal interface", "layout": "terminal interface",
	"username": "shown in conversations", "share": "publishing of sessions", "autoshare": "publishing of sessions", "autoupdate": "updates of OpenCode",
	"logLevel": "log", "server": "OpenCode's server", "watcher": "notifications of changed files", "snapshot": "undo", "enterprise": "address of a server",
	"small_model": "titles", "compaction": "length of conversations", "attachment": "sizes of images", "shell": "program of the terminal",
	"reference": "directories to read", "worktree": "working trees of sessions", "warming": "requests ahead of time", "websearch": "service of searches",
	"disabled_providers": "checked for each model", "enabled_providers": "checked for each model",
}

// handled are the keys of the configuration that other functions convert or note.
var handled = []string{
	"model", "permission", "permissions", "tools", "subagent_depth", "instructions", "agent", "mode", "provider", "default_agent", "plugin", "mcp", "lsp", "command", "formatter",
	"experimental", "tool_output", "skills",
}

// The paths of keys below others, with * for a name that a user chooses.
var (
	// named have names as keys, not settings.
	named = []string{"agent", "mode", "mcp", "provider", "provider.*.models", "command", "lsp", "formatter"}
	// data have values for other programs, in which the names of keys mean nothing here.
	data = []string{
		"keybinds", "tui", "theme", "server", "watcher", "enterprise", "compaction", "attachment", "worktree", "warming", "websearch", "formatter.*",
		"mcp.*.environment", "mcp.*.headers", "mcp.*.oauth", "lsp.*.env", "lsp.*.initialization",
		"provider.*.options.headers", "provider.*.models.*.headers", "provider.*.models.*.variants", "provider.*.models.*.options",
		"agent.*.options.reasoning", "agent.*.options.thinking", "agent.*.reasoning", "agent.*.thinking", "agent.*.request",
		"provider.*.body", "provider.*.models.*.body",
	}
	// understood restrict, or sound as if they did: other functions convert or check them.
	understood = []string{
		"permission", "permissions", "tools", "agent.*.permissions", "mode.*.permissions", "agent.*.permission", "agent.*.tools", "agent.*.disable", "mode.*.permission", "mode.*.tools", "mode.*.disable",
		"mcp.*.enabled", "lsp.*.disabled", "disabled_providers", "enabled_providers", "provider.*.whitelist", "provider.*.blacklist",
		"provider.*.models.*.tool_call", "provider.*.models.*.limit", "tool_output",
		"experimental.batch_tool", "experimental.continue_loop_on_deny", "experimental.disable_paste_summary",
	}
)

// restricts matches names of keys that may restrict agents.
var restricts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)permi|den(y|ie)|allow|tools?|disab|enab|block|restrict|read[-_]?only|` +
		`sandbox|polic|forb|approv|confirm|protect|guard|limit|trust|whitelist|blacklist|exclu|effect|decision|^rules?$|^asks?$|^version$`)
})

// restrictsFile matches names of files in .opencode that may restrict agents.
var restrictsFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)permission|polic(y|ies)|restrict|den(y|ied)|sandbox`)
})

// newer matches addresses of the schema of a later format.
var newer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(^|[/._@-])v?([3-9]|[1-9][0-9])([/._-]|$)`) })

// schemas matches the addresses of the schema of OpenCode 1 and 2, after the host.
var schemas = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(v[12]/)?config(/v[12])?\.json$`) })

// guard examines a configuration, and collects its restrictions that the manifest would not have.
type guard struct {
	dir    string
	config *node
	stops  []string // FILE:LINE: REASON
}

// stop records a restriction that the manifest would not have.
func (g *guard) stop(n *node, format string, args ...any) {
	g.stops = append(g.stops, strings.TrimSpace(n.at+": "+fmt.Sprintf(format, args...)))
}

// stopped returns the error of a configuration with restrictions that the manifest would not have.
func (g *guard) stopped() error {
	if g.stops == nil {
		return nil
	}
	return errors.New("agents could do more than in OpenCode, because these restrictions are not converted:\n  " + strings.Join(g.stops, "\n  ") +
		"\nremove them from the configuration, or write the manifest with a profile that has them; see docs/opencode.md")
}

// examine stops at everything in the configuration that can restrict an agent, and is not understood.
func (g *guard) examine() {
	config := g.config
	for _, key := range config.keys {
		n := config.get(key)
		switch {
		case slices.Contains(handled, key) || harmless[key] != "":
		default:
			g.stop(n, "unknown key %s", key)
		}
	}
	schema := config.get("$schema")
	address, _, _ := strings.Cut(schema.text(), "#")
	if _, own, found := strings.Cut(address, "opencode.ai/"); newer().MatchString(address) || found && !schemas().MatchString(own) {
		g.stop(schema, "$schema %q is not that of OpenCode 1 or 2", schema.text())
	}
	if depth := config.get("subagent_depth"); depth.at != "" && depth.count() < 1 {
		g.stop(depth, "subagent_depth permits no subagents: write permission task: deny")
	}
	g.keys(config, "", "")
	g.rights(config, "")
	for _, section := range []string{"mode", "agent"} {
		all := g.mapping(config, section)
		for _, name := range all.keys {
			g.rights(all.get(name), section+"."+name+".")
		}
	}
	for _, key := range []string{"mcp", "command", "provider", "lsp"} {
		if key != "lsp" || config.get(key).value == nil { // lsp: true
			g.mapping(config, key)
		}
	}
	if n := config.get("default_agent"); n.at != "" && n.text() == "" {
		g.stop(n, "default_agent is not a string")
	}
	for _, key := range []string{"disabled_providers", "enabled_providers"} {
		g.strings(config, key, "")
	}
	g.switches()
	g.configDirectory()
}

// keys stops at keys of a node and below it that may restrict agents and are not understood. at is the path of the node with * for
// names, and title the path itself.
func (g *guard) keys(n *node, at, title string) {
	for _, item := range n.items {
		g.keys(item, at, title)
	}
	for _, key := range n.keys {
		v, below, full := n.get(key), strings.TrimPrefix(at+"."+key, "."), strings.TrimPrefix(title+"."+key, ".")
		name := slices.Contains(named, at)
		if name {
			below = at + ".*"
		}
		top, empty := at == "", v.list && v.items == nil // examine knows the keys at the top
		switch {
		case slices.Contains(data, below) || slices.Contains(understood, below):
		case !name && !top && !empty && restricts().MatchString(key):
			g.stop(v, "unknown key %s", full)
		default:
			g.keys(v, below, full)
		}
	}
}

// mapping returns the mapping of a key.
func (g *guard) mapping(owner *node, key string) *node {
	n := owner.get(key)
	if n.at != "" && !n.object {
		g.stop(n, "%s is not an object", key)
	}
	for _, name := range n.keys {
		if v := n.get(name); !v.object {
			g.stop(v, "%s.%s is not an object", key, name)
		}
	}
	return n
}

// strings stops at a value that is not a list of strings.
func (g *guard) strings(owner *node, key, title string) {
	n := owner.get(key)
	if n.at != "" && (!n.list || slices.ContainsFunc(n.items, func(item *node) bool { return item.text() == "" })) {
		g.stop(n, "%s%s is not a list of strings", title, key)
	}
}

// switches stops at switches that are neither on nor off, and at lists of models that are not lists.
func (g *guard) switches() {
	for _, s := range []struct{ section, key string }{{"mcp", "enabled"}, {"lsp", "disabled"}} {
		for _, name := range g.config.get(s.section).keys {
			g.boolean(g.config.get(s.section, name), s.key, s.section+"."+name+".")
		}
	}
	for _, id := range g.config.get("provider").keys {
		for _, key := range []string{"whitelist", "blacklist"} {
			g.strings(g.config.get("provider", id), key, "provider."+id+".")
		}
	}
}

func (g *guard) boolean(owner *node, key, title string) {
	if n := owner.get(key); n.at != "" && n.boolean() == "" {
		g.stop(n, "%s%s is not true or false", title, key)
	}
}

// rights stops at rights of the configuration or of an agent in a form that is not understood.
func (g *guard) rights(owner *node, title string) {
	if granted := owner.get("permission"); granted.at != "" && !granted.object {
		g.effect(granted, title+"permission")
	}
	for _, name := range owner.get("permission").keys {
		v := owner.get("permission", name)
		if !v.object {
			g.effect(v, title+"permission."+name)
		}
		for _, pattern := range v.keys {
			g.effect(v.get(pattern), title+"permission."+name+"."+pattern)
		}
	}
	g.list(owner.get("permissions"), title+"permissions")
	tools := owner.get("tools")
	if tools.at != "" && !tools.object {
		g.stop(tools, "%stools is not an object", title)
	}
	for _, name := range tools.keys {
		g.boolean(tools, name, title+"tools.")
	}
	if title == "" {
		return
	}
	g.boolean(owner, "disable", title)
	if mode := owner.get("mode"); mode.at != "" && !slices.Contains([]string{"primary", "subagent", "all"}, mode.text()) {
		g.stop(mode, "%smode is not primary, subagent or all", title)
	}
	for _, key := range []string{"steps", "maxSteps"} {
		if n := owner.get(key); n.at != "" && n.count() < 1 {
			g.stop(n, "%s%s is not a number of steps", title, key)
		}
	}
}

// list stops at a list of rules of OpenCode 2 in a form that is not understood.
func (g *guard) list(n *node, title string) {
	if n.at != "" && !n.list {
		g.stop(n, "%s is not a list", title)
	}
	for _, item := range n.items {
		for _, key := range item.keys {
			if !slices.Contains([]string{"action", "resource", "effect"}, key) {
				g.stop(item.get(key), "%s: unknown key %s of a rule", title, key)
			}
		}
		if item.get("action").text() == "" || item.get("resource").text() == "" {
			g.stop(item, "%s: a rule has action, resource and effect", title)
		}
		g.effect(item.get("effect").or(item), title+": effect")
	}
}

// effect stops at an action of a rule that OpenCode does not have.
func (g *guard) effect(n *node, title string) {
	if !slices.Contains([]string{"allow", "ask", "deny"}, n.text()) {
		g.stop(n, "%s is not allow, ask or deny", title)
	}
}

// usable stops at a model that the configuration excludes.
func (g *guard) usable(id string) {
	id, _, _ = strings.Cut(id, "#")
	provider, model, _ := strings.Cut(id, "/")
	for _, rule := range []struct {
		owner     *node
		key, name string
		only      bool
	}{
		{g.config, "disabled_providers", provider, false},
		{g.config, "enabled_providers", provider, true},
		{g.config.get("provider", provider), "blacklist", model, false},
		{g.config.get("provider", provider), "whitelist", model, true},
	} {
		list := rule.owner.get(rule.key)
		found := slices.ContainsFunc(list.items, func(item *node) bool { return item.text() == rule.name })
		if id != "" && list.at != "" && found != rule.only {
			g.stop(list, "%s excludes %s: choose another model", rule.key, id)
		}
	}
}

// configDirectory examines .opencode: the heads of agents, commands and modes, and files that OpenCode 1 does not have.
func (g *guard) configDirectory() {
	for _, kind := range []struct {
		section string
		dirs    []string
	}{{"agent", agentDirs}, {"command", commandDirs}, {"mode", []string{"mode", "modes"}}} {
		for _, file := range markdown(g.dir, kind.dirs) {
			g.head(file, kind.section)
		}
	}
	entries, err := os.ReadDir(filepath.Join(g.dir, ".opencode"))
	if err != nil {
		return // it does not exist, or can't be used
	}
	for _, e := range entries {
		if restrictsFile().MatchString(e.Name()) {
			at := path.Join(".opencode", e.Name())
			g.stop(&node{at: at}, "unknown file or directory")
		}
	}
}

// head examines the head of a Markdown file. The agents of modes are not converted, so their rights would be lost.
func (g *guard) head(file, section string) {
	text, err := readFile(filepath.Join(g.dir, file))
	at := &node{at: file + ":1"}
	if err != nil {
		g.stop(at, "it can't be read: %v", err)
		return
	}
	head, _, err := frontmatter.Head(string(text))
	if errors.Is(err, frontmatter.ErrNone) {
		return
	}
	var doc yaml.Node
	if err == nil {
		err = yaml.Unmarshal([]byte(head), &doc)
	}
	if err != nil {
		g.stop(at, "its frontmatter can't be read: %v", err)
		return
	}
	n := ofYAML(&doc, file, 0)
	if section == "command" {
		n.rename(renamedCommand)
		for _, key := range slices.Clone(n.keys) {
			if strings.HasPrefix(strings.ToLower(key), "allow") { // OpenCode ignores it, and it only permits
				n.remove(key)
			}
		}
	} else {
		olderAgent(n)
	}
	g.keys(n, section+".*", "")
	g.usable(n.get("model").text())
	if section == "agent" && !n.get("tools").object {
		n.remove("tools") // a list, as in files for Claude, allows only its tools when the file is loaded
	}
	if section != "command" {
		g.rights(n, section+" ")
	}
	if off := n.get("disable"); section == "agent" && path.Base(file) == "build.md" && off.is(true) && slices.Contains([]string{"", "build"}, g.config.get("default_agent").text()) {
		g.stop(off, "agent build is disabled: set default_agent to another one")
	}
	for _, key := range []string{"permission", "permissions", "tools"} {
		if v := n.get(key); section == "mode" && v.at != "" {
			g.stop(v, "%s of a mode: move the file to .opencode/agent, and add mode: primary", key)
		}
	}
}

// ofYAML returns the node of a YAML value in the frontmatter of a file, whose first line is the second of the file.
func ofYAML(y *yaml.Node, file string, depth int) *node {
	n := &node{at: fmt.Sprintf("%s:%d", file, y.Line+1)}
	switch {
	case y.Kind == yaml.DocumentNode && len(y.Content) > 0:
		return ofYAML(y.Content[0], file, depth)
	case depth > maxDepth || y.Kind == yaml.AliasNode: // a manifest accepts neither: a value that is not understood
	case y.Kind == yaml.MappingNode:
		n.object, n.fields = true, map[string]*node{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			n.set(y.Content[i].Value, ofYAML(y.Content[i+1], file, depth+1))
		}
	case y.Kind == yaml.SequenceNode:
		n.list = true
		for _, item := range y.Content {
			n.items = append(n.items, ofYAML(item, file, depth+1))
		}
	case y.Kind == yaml.ScalarNode:
		n.value = literal(y)
	}
	return n
}
