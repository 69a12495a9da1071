package site

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/tasks"
)

// unreadFiles are what OpenCode reads in a repository, and millhand only if a
// manifest names it.
var unreadFiles = []string{
	"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc",
	".opencode/agent", ".opencode/agents", ".opencode/mode", ".opencode/modes", ".opencode/command", ".opencode/commands",
	".opencode/tool", ".opencode/tools", ".opencode/plugin", ".opencode/plugins",
}

// WarnOfUnread warns, once for each run, of a repository's configuration for OpenCode:
// its users expect that the permissions in it apply.
func (w *Workdir) WarnOfUnread() {
	j := w.job
	_, err := w.Space.Root().Lstat(".opencode")
	bare := err != nil // most repositories have no such directory
	found := slices.DeleteFunc(slices.Clone(unreadFiles), func(name string) bool {
		if bare && strings.HasPrefix(name, ".opencode/") {
			return true
		}
		_, err := w.Space.Root().Lstat(name)
		return err != nil || j.Plan.Commands && strings.HasPrefix(name, ".opencode/command") || j.Plan.AgentFiles && strings.HasPrefix(name, ".opencode/agent") || readsIn(w.Space.Root().Name(), name, j.Plan.Scripts)
	})
	if len(found) == 0 {
		return
	}
	j.run.unread.Do(func() {
		j.Warn(fmt.Sprintf("%s in %s is for OpenCode and not read; millhand init --from-opencode converts it (docs/opencode.md)", strings.Join(found, ", "), j.Spec.Repo.Name))
	})
}

// readsIn reports whether the manifest has a tool file or a plugin of a directory in the repository
// at root, or the tool files of a directory that contains it.
func readsIn(root, name string, s tasks.Scripts) bool {
	at := filepath.Join(root, name)
	return slices.ContainsFunc(slices.Concat(s.ToolFiles, s.Plugins), func(f tasks.ScriptFile) bool {
		path := f.Path
		if f.Workspace {
			path = filepath.Join(root, filepath.FromSlash(path))
		}
		return pathtree.Within(path, at) || strings.HasPrefix(name, ".opencode/tool") && path == filepath.Dir(at)
	})
}
