package confinement

import (
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/tasks"
)

// Under a profile that allows no changes (permission.Profile.MayChange) the workspace is read-only for the commands of
// sessions and for every process beside the model. Setup, baseline and verify commands, and scripts of
// tasks, are the author's own and can write: what setup and verify leave is not committed.

// LockWorkspace makes the workspace read-only for the commands of a session whose profile allows no
// changes.
func (g *Env) LockWorkspace() {
	if !g.Profile.MayChange() {
		g.Locked = []string{g.Workspace}
	}
}

// LockAll makes the workspace read-only, whatever the profile allows.
func (g *Env) LockAll() { g.Locked = []string{g.Workspace} }

// lockFor is LockWorkspace for a process, whose own write key can include the workspace.
func (g *Env) lockFor(s tasks.Process) {
	holds := func(dir string) bool { return pathtree.Within(RealPath(g.Workspace), RealPath(dir)) }
	if s.Workspace && MayGrant(g.Profile) || slices.ContainsFunc(s.Write, holds) && g.Profile.Allows(permission.ExternalDirectory, filepath.Join(g.Workspace, "x")) {
		return
	}
	g.LockWorkspace()
}

// MayGrant reports whether a manifest can let programs write the workspace under a profile of its own: limits
// of the operator and of agents hold for them, too.
func MayGrant(p permission.Profile) bool { return p.MayChange() || p.Max == nil || p.Max.MayChange() }

// lock makes the workspace read-only, and what contains it or is in it, although rules of the profile
// allow writing there. A process can write to directories in it that its own key names.
func (g Env) lock(spec *sandbox.Spec) {
	own := func(dir string) bool {
		return pathtree.Within(RealPath(dir), RealPath(g.Workspace)) && slices.ContainsFunc(g.Profile.Rules, func(r permission.Rule) bool {
			return r.Source == g.Profile.Name && r.Permission == permission.ExternalDirectory && r.Pattern == filepath.Join(dir, "**")
		})
	}
	spec.Grants = slices.DeleteFunc(spec.Grants, func(grant sandbox.Grant) bool {
		return grant.Writable() && Overlap(grant.Path(), g.Workspace) && !own(grant.Path())
	})
	spec.Workspace, spec.Grants, spec.Locked = g.Home, append(spec.Grants, grants(false, g.Workspace)...), nil
}

// readOnly reports whether the workspace can't be written.
func (g *Env) readOnly() bool { return slices.Contains(g.Locked, g.Workspace) }

// Overlap reports whether one of two directories is in the other.
func Overlap(a, b string) bool {
	a, b = RealPath(a), RealPath(b)
	return pathtree.Within(a, b) || pathtree.Within(b, a)
}
