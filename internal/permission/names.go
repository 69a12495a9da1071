package permission

import (
	"slices"
	"strings"
)

// builtIn is one of millhand's own tools.
type builtIn struct {
	name     string
	writes   bool   // it needs the permission to edit, not one of its own
	reads    bool   // its subject is a path that it reads
	network  bool   // it reaches hosts, and its results are from there
	todos    bool   // it needs the to-do list of its session
	exact    bool   // its result has no durations and addresses of its own
	preset   string // the narrowest preset that allows all of its subjects, except the protected ones
	quick    bool   // its calls are short
	openCode string // its name in OpenCode 2, if that is another
}

// builtIns has a row for each tool. Everything that has to know all tools reads it: the presets, the names that
// manifests can't use, the log and the conversion of OpenCode's rules.
var builtIns = []builtIn{
	{name: "bash", preset: "build", openCode: "shell"},
	{name: "read", reads: true, preset: "readonly", quick: true, exact: true},
	{name: "list", reads: true, preset: "readonly", quick: true, exact: true},
	{name: "glob", preset: "readonly", quick: true, exact: true},
	{name: "grep", preset: "readonly", quick: true, exact: true},
	{name: "edit", writes: true, preset: "edit", quick: true, exact: true},
	{name: "write", writes: true, preset: "edit", quick: true, exact: true},
	{name: "apply_patch", writes: true, preset: "edit", quick: true, exact: true},
	{name: "task", preset: "readonly", openCode: "subagent"},
	{name: "webfetch", network: true, preset: "full"},
	{name: "websearch", network: true, preset: "full"},
	{name: "codesearch", network: true, preset: "full"},
	{name: "todowrite", todos: true, preset: "readonly", quick: true, exact: true},
	{name: "todoread", todos: true, preset: "readonly", quick: true, exact: true},
	{name: "skill", preset: "readonly", quick: true, exact: true},
	{name: "batch", preset: "readonly", quick: true},
	{name: "lsp", reads: true, preset: "readonly"},
}

// tool returns the row of a tool. Custom tools have none: theirs has the name alone.
func tool(name string) builtIn {
	for _, t := range builtIns {
		if t.name == name {
			return t
		}
	}
	return builtIn{name: name}
}

// Tools returns the names of millhand's own tools, whether or not a session has
// them.
func Tools() []string { return named(func(builtIn) bool { return true }) }

// named returns the names of some tools.
func named(some func(builtIn) bool) (names []string) {
	for _, t := range builtIns {
		if some(t) {
			names = append(names, t.name)
		}
	}
	return names
}

// NetworkTools returns the names of millhand's tools that reach hosts.
func NetworkTools() []string { return named(func(t builtIn) bool { return t.network }) }

// TodoTools returns the names of the tools for the to-do list of a session. Subagents lack them: nobody reads their list.
func TodoTools() []string { return named(func(t builtIn) bool { return t.todos }) }

// HasExactResults reports whether a tool of millhand has results without durations and addresses of its own: two
// calls with the same files have equal ones.
func HasExactResults(name string) bool { return tool(name).exact }

// IsOfPaths reports whether a permission's subjects are paths that a tool of millhand reads or edits.
func IsOfPaths(name string) bool {
	t := tool(name)
	return t.reads || t.writes
}

// Quick reports whether calls of a tool are so short that a log has no line for their start.
func Quick(name string) bool { return tool(name).quick }

// RequiresUser reports whether a name is that of a tool with which interactive
// agents ask the user. Models know these tools, but nobody can answer in a
// batch run.
func RequiresUser(name string) bool {
	switch strings.ToLower(name) {
	case "question", "plan_exit", "plan_enter", "ask", "ask_user", "askuserquestion", "exitplanmode":
		return true
	}
	return false
}

// Reserved reports whether a name, ignoring case, can't be the name of a custom
// tool or a tool of an MCP server.
func Reserved(name string) bool {
	switch name = strings.ToLower(name); name {
	case "invalid", DoomLoop, Git, ExternalDirectory, ExternalRead:
		return true
	}
	return Alias(name) != name || slices.Contains(Tools(), name) || RequiresUser(name)
}

// Known returns the built-in permissions. Others are the names of custom tools
// and of MCP servers' tools.
func Known() []string {
	names := slices.DeleteFunc(Tools(), func(tool string) bool { return ForTool(tool) != tool })
	return append(names, "question", DoomLoop, ExternalDirectory, ExternalRead, Git)
}

// Alias returns the name of a tool that OpenCode 2 names differently, in any letter case: shell is bash,
// and subagent is task. Other names are unchanged.
func Alias(name string) string {
	for _, t := range builtIns {
		if t.openCode != "" && strings.EqualFold(t.openCode, name) {
			return t.name
		}
	}
	return name
}

// OpenCodeName returns the name of a tool in OpenCode 2, if that is another; "" for others.
func OpenCodeName(name string) string { return tool(name).openCode }

// ForTool returns the permission that a tool needs: "edit" for all tools that
// write files, the tool's own name otherwise.
func ForTool(name string) string {
	if t := tool(Alias(strings.TrimSpace(name))); !t.writes {
		return t.name
	}
	return "edit"
}
