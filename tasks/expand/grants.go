package expand

import (
	"slices"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/userfile"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tasks"
)

// grantWorkspaces extends the write keys of processes: a directory that contains the repositories of all jobs
// includes their workspaces, wherever these are.
func grantWorkspaces(p *tasks.Plan) {
	extend := func(s *tasks.Process) {
		s.Workspace = s.Workspace || slices.ContainsFunc(s.Write, func(dir string) bool {
			return !slices.ContainsFunc(p.Jobs, func(j tasks.Job) bool {
				return j.Repo.Dir == "" || !pathtree.Within(userfile.Real(j.Repo.Dir), userfile.Real(dir))
			})
		})
	}
	for i := range p.MCP {
		extend(&p.MCP[i].Process)
	}
	extend(&p.Scripts.Process)
}

// protectGranted adds the protected paths of the presets to the profiles of jobs that allow no changes, if a
// program may change files there nevertheless.
func protectGranted(p *tasks.Plan) {
	if !slices.ContainsFunc(p.Grants(), func(g tasks.Grant) bool { return g.Workspace }) {
		return
	}
	for i := range p.Jobs {
		if j := &p.Jobs[i]; j.Script == nil && !j.Profile.MayChange() {
			j.Profile = j.Profile.Narrowed("preset edit", permission.Protected("preset edit"))
		}
	}
}
