package permission

import (
	"slices"
	"strings"
)

// Tools returns the names of millhand's own tools, whether or not a session has
// them.
func Tools() []string {
	return []string{
		"bash", "read", "list", "glob", "grep", "edit", "write", "apply_patch", "task", "webfetch", "websearch", "codesearch",
		"todowrite", "todoread", "skill", "batch", "lsp",
	}
}

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
	switch strings.ToLower(name) {
	case "shell":
		return "bash"
	case "subagent":
		return "task"
	}
	return name
}

// ForTool returns the permission that a tool needs: "edit" for all tools that
// write files, the tool's own name otherwise.
func ForTool(tool string) string {
	switch tool {
	case "write", "edit", "apply_patch":
		return "edit"
	}
	return Alias(strings.TrimSpace(tool))
}
