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

// AsksPerson reports whether a name is that of a tool with which interactive
// agents ask somebody: models know them, and nobody is there to answer.
func AsksPerson(name string) bool {
	switch strings.ToLower(name) {
	case "question", "plan_exit", "plan_enter", "ask", "ask_user", "askuserquestion", "exitplanmode":
		return true
	}
	return false
}

// Reserved reports whether a name, whatever its case, means something else than
// a tool that a manifest or a server brings.
func Reserved(name string) bool {
	switch name = strings.ToLower(name); name {
	case "invalid", doomLoop, Git, ExternalDirectory, ExternalRead:
		return true
	}
	return slices.Contains(Tools(), name) || AsksPerson(name)
}

// doomLoop is OpenCode's permission for repeating a call, which nobody can be
// asked for; profiles may speak of it.
const doomLoop = "doom_loop"

// Known returns the names that rules are usually about. Others are those of
// tools that manifests and servers bring.
func Known() []string {
	names := slices.DeleteFunc(Tools(), func(tool string) bool { return ForTool(tool) != tool })
	return append(names, "question", doomLoop, ExternalDirectory, ExternalRead, Git)
}

// ForTool returns the permission whose rules judge a tool: "edit" for all the
// tools that write files, the tool's own name otherwise.
func ForTool(tool string) string {
	switch tool {
	case "write", "edit", "apply_patch":
		return "edit"
	}
	return strings.TrimSpace(tool)
}
