package runner

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// Under a profile that allows no changes (permission.Profile.MayChange) the workspace is read-only for the commands of
// sessions and for every process beside the model. Setup, baseline and verify commands, and scripts of
// tasks, are the author's own and can write: what setup and verify leave is not committed.

// LockWorkspace makes the workspace read-only for the commands of a session whose profile allows no
// changes.
func (g *CommandEnv) LockWorkspace() {
	if !g.Profile.MayChange() {
		g.Locked = []string{g.Workspace}
	}
}

// lockFor is LockWorkspace for a process, whose own write key can include the workspace.
func (g *CommandEnv) lockFor(s tasks.Process) {
	holds := func(dir string) bool { return pathtree.Within(realPath(g.Workspace), realPath(dir)) }
	if s.Workspace && mayGrant(g.Profile) || slices.ContainsFunc(s.Write, holds) && g.Profile.Allows(permission.ExternalDirectory, filepath.Join(g.Workspace, "x")) {
		return
	}
	g.LockWorkspace()
}

// mayGrant reports whether a manifest can let programs write the workspace under a profile of its own: limits
// of the operator and of agents hold for them, too.
func mayGrant(p permission.Profile) bool { return p.MayChange() || p.Max == nil || p.Max.MayChange() }

// lock makes the workspace read-only, and what contains it or is in it, although rules of the profile
// allow writing there. A process can write to directories in it that its own key names.
func (g CommandEnv) lock(spec *sandbox.Spec) {
	own := func(dir string) bool {
		return pathtree.Within(realPath(dir), realPath(g.Workspace)) && slices.ContainsFunc(g.Profile.Rules, func(r permission.Rule) bool {
			return r.Source == g.Profile.Name && r.Permission == permission.ExternalDirectory && r.Pattern == filepath.Join(dir, "**")
		})
	}
	spec.Grants = slices.DeleteFunc(spec.Grants, func(grant sandbox.Grant) bool {
		return grant.Writable() && overlaps(grant.Path(), g.Workspace) && !own(grant.Path())
	})
	spec.Workspace, spec.Grants, spec.Locked = g.Home, append(spec.Grants, grants(false, g.Workspace)...), nil
}

// readOnly reports whether the workspace can't be written.
func (g *CommandEnv) readOnly() bool { return slices.Contains(g.Locked, g.Workspace) }

// overlaps reports whether one of two directories is in the other.
func overlaps(a, b string) bool {
	a, b = realPath(a), realPath(b)
	return pathtree.Within(a, b) || pathtree.Within(b, a)
}

// unpermitted returns the stop of a job whose files changed although its profile allows no changes and no
// program was granted any: only level A prevents all of them. B doesn't prevent changes of modes, and before
// Linux 6.2 truncation.
func (l *landing) unpermitted(changes *gitops.ChangeSet) *stop {
	j := l.job
	if j.opts.Level == sandbox.Full || l.mayChange() || !l.startsPrograms() {
		return nil
	}
	var files []string
	states := changes.States()
	for _, c := range changes.Changes {
		if !l.site.diff.has(c.Path, states[c.Path]) {
			files = append(files, c.Path)
		}
	}
	if len(files) == 0 {
		return nil
	}
	return &stop{code: event.CodeProtected, detail: fmt.Sprintf("files were changed while the job ran (%s), but the profile %s allows no changes: at sandbox level %s a tool, hook or server can write (fix: sandbox level A, or another profile)", firstThree(files), j.spec.Profile.Name, j.opts.Level)}
}

// mayChange reports whether the job may change files: its agents, its script, a program that the manifest grants
// it, or an earlier run whose changes it continues.
func (l *landing) mayChange() bool {
	j := l.job
	p := (&work{job: j}).ownSpec().task.Profile
	return p.MayChange() || j.spec.Script != nil || j.start.onto.commit != "" || j.history.Inherits() ||
		slices.ContainsFunc(j.plan.Grants(), func(g tasks.Grant) bool {
			return g.Workspace && mayGrant(p) || slices.ContainsFunc(g.Dirs, func(dir string) bool { return overlaps(dir, l.site.dir) })
		})
}

// startsPrograms reports whether anything but setup and verify commands runs programs in the job.
func (l *landing) startsPrograms() bool {
	j := l.job
	return j.plan.StartsProcesses() || len(j.plan.Tools) > 0 || !j.spec.Profile.Hides("bash")
}
