package agent

import (
	"path/filepath"

	"github.com/millhand/millhand/tools/skill"
	"github.com/millhand/millhand/tools/untrusted"
)

// watchUntrusted lets a mark of the job also end the processes of its extensions: each starts again with the next
// call that is allowed.
func (x *extensions) watchUntrusted() {
	u := x.job.Untrusted
	if u == nil {
		return
	}
	u.Marked = func(m untrusted.Mark) {
		x.job.Marked(m)
		if u.Limits.Network || u.Limits.MCP {
			x.set.Pause()
		}
	}
	u.Find = x.site.Sandboxes.FindUntrusted
	x.job.MarkStart()
}

// filesOf returns the files of skills, relative to a workspace.
func filesOf(skills []skill.Skill, workspace string) (names []string) {
	for _, s := range skills {
		if rel, err := filepath.Rel(workspace, s.Dir); err == nil {
			names = append(names, filepath.ToSlash(rel)+"/SKILL.md")
		}
	}
	return names
}
