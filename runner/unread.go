package runner

import (
	"fmt"
	"slices"
	"strings"
)

// unreadFiles are what OpenCode reads in a repository, and millhand only if a
// manifest names it.
var unreadFiles = []string{
	"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc",
	".opencode/agent", ".opencode/agents", ".opencode/mode", ".opencode/modes", ".opencode/command", ".opencode/commands",
	".opencode/tool", ".opencode/tools", ".opencode/plugin", ".opencode/plugins",
}

// warnOfUnread warns, once for each run, of a repository's configuration for OpenCode:
// its users expect that the permissions in it apply.
func (j *job) warnOfUnread(s *site) {
	found := slices.DeleteFunc(slices.Clone(unreadFiles), func(name string) bool {
		_, err := s.space.Root().Lstat(name)
		return err != nil || j.plan.Commands && strings.HasPrefix(name, ".opencode/command") || j.plan.AgentFiles && strings.HasPrefix(name, ".opencode/agent")
	})
	if len(found) == 0 {
		return
	}
	j.run.unread.Do(func() {
		j.warn(fmt.Sprintf("%s in %s is for OpenCode and not read; millhand init --from-opencode converts it (docs/opencode.md)", strings.Join(found, ", "), j.spec.Repo.Name))
	})
}
