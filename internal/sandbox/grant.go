package sandbox

import (
	"path/filepath"
	"slices"

	"github.com/millhand/millhand/internal/files/pathtree"
)

// Grant is access of commands to a path outside of their workspace. It is the only field of a
// [Spec] that can expose private files of the system, see [Private], except for the
// directories that commands work in. The zero value grants nothing.
type Grant struct {
	path  string // absolute
	write bool
}

// NewGrant returns the access to an absolute path, a file or a directory: to read it, or also to
// write it. It includes private files if the path, without symlinks, is narrower than the
// directories of the system: a rule for /etc or /opt is about programs and their settings, one
// for a directory there is about what is in it.
func NewGrant(path string, write bool) Grant { return Grant{path, write} }

// Path returns the path as it was given.
func (g Grant) Path() string { return g.path }

// Writable reports whether the path may be written.
func (g Grant) Writable() bool { return g.write }

// Concealed returns the private files and directories of the system that commands with these
// grants, and nothing else, can't access.
func (p *Private) Concealed(grants []Grant) []string {
	var paths []string
	for _, g := range grants {
		if resolved, err := filepath.EvalSymlinks(g.path); err == nil {
			paths = append(paths, resolved)
		}
	}
	return p.except(nil, paths)
}

// except returns the private paths, without those that are exposed: in the directories that
// commands work in, or by a granted path that is narrower than the system's directories. All
// paths are without symlinks.
func (p *Private) except(work, granted []string) []string {
	private, exposed := slices.Clone(p.Paths()), slices.Clone(work)
	for _, path := range granted {
		if !slices.ContainsFunc(p.systems, func(dir string) bool { return pathtree.Within(dir, path) }) {
			exposed = append(exposed, path)
		}
	}
	return slices.DeleteFunc(private, func(path string) bool {
		return slices.ContainsFunc(exposed, func(dir string) bool { return pathtree.Within(path, dir) })
	})
}

// systemPaths returns the directories of the system, as they are named and without symlinks.
func systemPaths(roots []string) []string {
	all := slices.Concat(systemDirs(), roots)
	for _, dir := range all {
		if resolved, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(all, resolved) {
			all = append(all, resolved)
		}
	}
	return all
}
