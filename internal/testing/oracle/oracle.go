package oracle

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Version is the version of OpenCode that reads a configuration.
type Version int

// The versions: 1 as of 1.18, and 2.
const (
	V1 Version = 1
	V2 Version = 2
)

// World is what a decision depends on besides the configuration.
type World struct {
	Dir   string                 // where OpenCode runs, the root of its git worktree; absolute and clean
	Home  string                 // of the user
	IsDir func(path string) bool // whether an absolute path is a directory
}

// Call is one tool call, with version 1's name of the tool or the full name of an MCP
// server's tool.
type Call struct {
	Tool string
	// Subject is the command line of bash, the path of read and of the tools that change
	// files, and otherwise what a rule's pattern is compared with: a URL, a name, a query or
	// "*".
	Subject string
}

// Config is a configuration as one version reads it.
type Config struct {
	Version Version
	user    []rule            // of the file, for all agents
	agents  map[string][]rule // of agents, which follow those of the file
}

type rule struct{ action, resource, effect string }

// Parse returns the readings of an opencode.json: of both versions if it has only keys of
// version 1, which version 2 still reads; otherwise of version 2, because version 1 refuses
// keys that it doesn't know.
func Parse(text []byte, w World) ([]Config, error) {
	file, err := decode(text)
	if err != nil {
		return nil, err
	}
	versions := []Version{V1, V2}
	if file.get("permissions") != nil || file.get("agents") != nil {
		versions = []Version{V2}
	}
	var readings []Config
	for _, v := range versions {
		c, err := read(file, v, w)
		if err != nil {
			return nil, err
		}
		readings = append(readings, c)
	}
	return readings, nil
}

func read(file object, v Version, w World) (Config, error) {
	c := Config{Version: v, agents: map[string][]rule{}}
	var err error
	c.user, err = c.rules(file, w)
	if err != nil {
		return Config{}, err
	}
	for _, key := range []string{"agent", "agents"} { // an agent of the second replaces that of the first
		agents, _ := file.get(key).(object)
		for _, m := range agents {
			agent, _ := m.value.(object)
			if c.agents[m.key], err = c.agentRules(key, agent, w); err != nil {
				return Config{}, fmt.Errorf("%s %s: %w", key, m.key, err)
			}
		}
	}
	return c, nil
}

// rules returns the rules of the top level.
func (c Config) rules(file object, w World) ([]rule, error) {
	switches, mapping := switchRules(file.get("tools")), file.get("permission")
	if c.Version == V1 { // the switches are under the mapping, whose keys take the positions of theirs
		return fromMapping(over(switches, mapping), w, asWritten)
	}
	rules, err := fromMapping(switches, w, renamed)
	if err != nil {
		return nil, err
	}
	second, err := fromMapping(over(nil, mapping), w, renamed)
	if err != nil {
		return nil, err
	}
	third, err := fromList(file.get("permissions"), w)
	return append(append(rules, second...), third...), err
}

// agentRules returns the rules of an agent in the section with a key. Both versions put
// an agent's switches under its mapping; only an agent of version 2 has a list.
func (c Config) agentRules(key string, agent object, w World) ([]rule, error) {
	if key == "agents" {
		return fromList(agent.get("permissions"), w)
	}
	name := asWritten
	if c.Version == V2 {
		name = renamed
	}
	return fromMapping(over(switchRules(agent.get("tools")), agent.get("permission")), w, name)
}

// switchRules returns the mapping that tools: {NAME: BOOL} stands for.
func switchRules(tools any) object {
	var mapping object
	o, _ := tools.(object)
	for _, m := range o {
		name, effect := m.key, "deny"
		if m.value == true {
			effect = "allow"
		}
		switch name {
		case "write", "edit", "patch":
			name = "edit"
		}
		mapping = mapping.set(name, effect)
	}
	return mapping
}

// over returns a mapping with the values of another one, which keep the position of a key
// that exists.
func over(under object, mapping any) object {
	switch m := mapping.(type) {
	case string:
		return under.set("*", m)
	case object:
		for _, each := range m {
			under = under.set(each.key, each.value)
		}
	}
	return under
}

func asWritten(action string) string { return action }

// renamed returns the name that version 2 gives to an action of version 1.
func renamed(action string) string {
	switch action {
	case "bash":
		return "shell"
	case "task":
		return "subagent"
	case "write", "patch":
		return "edit"
	}
	return action
}

// fromMapping returns the rules of a mapping in their order.
func fromMapping(mapping object, w World, name func(string) string) ([]rule, error) {
	var rules []rule
	for _, m := range mapping {
		switch v := m.value.(type) {
		case string:
			rules = append(rules, rule{name(m.key), "*", v})
		case object:
			for _, each := range v {
				effect, _ := each.value.(string)
				rules = append(rules, rule{name(m.key), w.expand(each.key), effect})
			}
		default:
			return nil, fmt.Errorf("permission %s is %T", m.key, m.value)
		}
	}
	return rules, nil
}

// fromList returns the rules of version 2's list.
func fromList(list any, w World) ([]rule, error) {
	var rules []rule
	all, _ := list.([]any)
	for i, each := range all {
		o, _ := each.(object)
		action, ok1 := o.get("action").(string)
		resource, ok2 := o.get("resource").(string)
		effect, ok3 := o.get("effect").(string)
		if !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("permissions[%d] has no action, resource or effect", i)
		}
		switch action { // others have no paths, so that "~" is literal
		case "external_directory", "read", "edit":
			resource = w.expand(resource)
		}
		rules = append(rules, rule{action, resource, effect})
	}
	return rules, nil
}

// expand replaces the home directory at the start of a pattern.
func (w World) expand(pattern string) string {
	for _, home := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(pattern, home); ok && (rest == "" || rest[0] == '/') {
			return w.Home + rest
		}
	}
	return pattern
}

// Allows reports whether an agent's call runs without a question to the user.
func (c Config) Allows(agent string, call Call, w World) bool {
	rules := c.of(agent)
	for _, n := range c.needs(call, w) {
		if decider(rules, n).effect != "allow" {
			return false
		}
	}
	return true
}

// Broad reports whether what a call needs of an action is decided by a rule that doesn't
// name it: one with a pattern of actions, or for all resources.
func (c Config) Broad(agent string, call Call, action string, w World) bool {
	for _, n := range c.needs(call, w) {
		if r := decider(c.of(agent), n); n.action == action && (r.action != action || r.resource == "*") {
			return true
		}
	}
	return false
}

// of returns all rules of an agent, the deciding ones last.
func (c Config) of(agent string) []rule {
	rules := []rule{{"*", "*", "allow"}, {"external_directory", "*", "ask"}}
	if c.Version == V1 {
		rules = append(rules, rule{"doom_loop", "*", "ask"}, rule{"question", "*", "deny"},
			rule{"plan_enter", "*", "deny"}, rule{"plan_exit", "*", "deny"}, rule{"read", "*", "allow"})
	}
	rules = append(rules, rule{"read", "*.env", "ask"}, rule{"read", "*.env.*", "ask"}, rule{"read", "*.env.example", "allow"})
	switch agent {
	case "plan":
		rules = append(rules, rule{"edit", "*", "deny"}, rule{"edit", ".opencode/plans/*.md", "allow"})
	case "general":
		rules = append(rules, rule{"todoread", "*", "deny"}, rule{"todowrite", "*", "deny"})
	case "explore":
		rules = append(rules, rule{"*", "*", "deny"})
		for _, action := range []string{"grep", "glob", "webfetch", "websearch", "read"} {
			rules = append(rules, rule{action, "*", "allow"})
		}
		if c.Version == V1 {
			rules = append(rules, rule{"list", "*", "allow"}, rule{"bash", "*", "allow"}, rule{"codesearch", "*", "allow"})
		}
		rules = append(rules, rule{"external_directory", "*", "ask"})
	}
	return append(append(rules, c.user...), c.agents[agent]...)
}

// need is one thing that a call asks for.
type need struct {
	action, resource string
	absolute         string // of a file in the worktree, for version 2
}

// needs returns what a call asks for: all of it must be allowed.
func (c Config) needs(call Call, w World) []need {
	switch call.Tool {
	case "bash":
		return c.commandNeeds(call.Subject, w)
	case "read":
		return c.fileNeeds("read", call.Subject, w)
	case "edit", "write", "apply_patch", "multiedit":
		return c.fileNeeds("edit", call.Subject, w)
	case "task":
		if c.Version == V2 {
			return []need{{action: "subagent", resource: call.Subject}}
		}
	}
	return []need{{action: call.Tool, resource: call.Subject}}
}

func (c Config) fileNeeds(action, name string, w World) []need {
	abs := name
	if !path.IsAbs(name) {
		abs = path.Join(w.Dir, name)
	}
	rel, inside := relative(w.Dir, path.Clean(abs))
	if inside {
		n := need{action: action, resource: rel}
		if c.Version == V2 {
			n.absolute = abs
		}
		return []need{n}
	}
	resource := rel
	if c.Version == V2 {
		resource = abs
	}
	return []need{w.external(abs), {action: action, resource: resource}}
}

// external returns the need for the directory of a path outside.
func (w World) external(abs string) need {
	dir := abs
	if !w.IsDir(abs) {
		dir = path.Dir(abs)
	}
	return need{action: "external_directory", resource: path.Join(dir, "*")}
}

// relative returns a clean absolute path relative to a directory, and whether it is inside.
func relative(dir, abs string) (rel string, inside bool) {
	if abs == dir {
		return ".", true
	}
	up := ""
	for at := dir; ; at, up = path.Dir(at), up+"../" {
		if rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(at, "/")+"/"); ok {
			return up + rest, up == ""
		}
		if abs == at {
			return strings.TrimSuffix(up, "/"), false
		}
	}
}

// commandNeeds returns the needs of a command line. cd is not asked for as a command; its
// arguments, and in version 1 those of some commands for files, are if they are outside.
func (c Config) commandNeeds(line string, w World) []need {
	var needs []need
	for _, command := range commands(line) {
		words := strings.Fields(command)
		switch words[0] {
		case "cd":
		case "pushd", "popd":
			if c.Version == V1 {
				needs = append(needs, need{action: "bash", resource: command})
			}
		default:
			needs = append(needs, need{action: c.shell(), resource: command})
		}
		for _, abs := range c.namedBy(words, w) {
			if _, inside := relative(w.Dir, path.Clean(abs)); !inside {
				needs = append(needs, w.external(path.Clean(abs)))
			}
		}
	}
	if len(needs) == 0 && c.Version == V2 && len(commands(line)) == 0 {
		return []need{{action: "shell", resource: line}}
	}
	return needs
}

func (c Config) shell() string {
	if c.Version == V1 {
		return "bash"
	}
	return "shell"
}

// namedBy returns the absolute paths of arguments that a command is asked for.
func (c Config) namedBy(words []string, w World) []string {
	switch words[0] {
	case "cd":
	case "pushd", "popd":
		if c.Version == V1 {
			return nil
		}
	case "rm", "cp", "mv", "mkdir", "touch", "chmod", "chown", "cat":
		if c.Version == V2 {
			return nil
		}
	default:
		return nil
	}
	var paths []string
	for _, word := range words[1:] {
		word = strings.Trim(word, `'"`)
		switch {
		case strings.HasPrefix(word, "-"), strings.ContainsAny(word, "$`(<>|&;"):
		case path.IsAbs(word):
			paths = append(paths, word)
		default:
			paths = append(paths, path.Join(w.Dir, word))
		}
	}
	return paths
}

// decider returns the last rule that matches; ask if none does.
func decider(rules []rule, n need) rule {
	for _, r := range slices.Backward(rules) {
		subject := n.resource
		if n.absolute != "" && strings.HasPrefix(strings.ReplaceAll(r.resource, `\`, "/"), "/") {
			subject = n.absolute
		}
		if matches(r.action, n.action) && matches(r.resource, subject) {
			return r
		}
	}
	return rule{n.action, "*", "ask"}
}

// matches reports whether a pattern matches all of a text: "*" is any number of
// characters and "?" one, of any kind. " *" at the end is optional.
func matches(pattern, text string) bool {
	p, s := strings.ReplaceAll(pattern, `\`, "/"), strings.ReplaceAll(text, `\`, "/")
	if short, ok := strings.CutSuffix(p, " *"); ok && glob([]rune(short), []rune(s)) {
		return true
	}
	return glob([]rune(p), []rune(s))
}

func glob(p, s []rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	if p[0] == '*' {
		for i := 0; i <= len(s); i++ {
			if glob(p[1:], s[i:]) {
				return true
			}
		}
		return false
	}
	return len(s) > 0 && (p[0] == '?' || p[0] == s[0]) && glob(p[1:], s[1:])
}
