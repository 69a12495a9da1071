package access

import (
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
)

// Scratch are the private directories of a session's commands. For bash they count as
// inside the workspace. The file tools, which run outside the sandbox, don't use them.
type Scratch struct {
	Tmp  string // TMPDIR of commands, without symlinks; "" for none
	Home string // HOME of commands, without symlinks; "" if it is the user's
	// Replaced are directories of the machine that commands see private ones instead of,
	// such as /tmp; Shown are the paths in them that are the machine's nevertheless.
	Replaced []string
	Shown    []string
}

// temporaryFiles lists where programs put temporary files if they ignore TMPDIR.
var temporaryFiles = []string{"/tmp", "/var/tmp"}

// Has reports whether a path without symlinks is in a private directory.
func (s Scratch) Has(abs string) bool {
	return s.Tmp != "" && pathtree.Within(abs, s.Tmp) || s.Home != "" && pathtree.Within(abs, s.Home)
}

// replaces returns the path that commands see instead of an absolute path of the
// machine. One with ".." is not known without the symlinks of the private directory. A
// directory with a path that is the machine's can be read, but not written: it may be
// removed with all that is in it.
func (s Scratch) replaces(abs string, write bool) (string, bool) {
	shown := func(p string) bool { return pathtree.Within(abs, p) || write && pathtree.Within(p, abs) }
	if strings.Contains(abs, "..") || slices.ContainsFunc(s.Shown, shown) {
		return "", false
	}
	for _, dir := range s.Replaced {
		if pathtree.Within(abs, dir) {
			return path.Join(s.Tmp, strings.TrimPrefix(path.Clean(abs), dir)), true
		}
	}
	return "", false
}

// Locate resolves a path of a command, and reports whether it is in a private directory
// of the session's commands. What the machine has there does not matter then: commands
// don't see it.
func (a *Paths) Locate(from, name string, write bool) (p workspace.Path, private bool, err error) {
	if !path.IsAbs(name) {
		name = from + "/" + name // not path.Join, which would resolve "symlink/.." lexically
	}
	seen, replaced := a.Scratch.replaces(name, write)
	if replaced {
		name = seen
	}
	p, err = a.Workspace.ResolveFrom(from, name)
	return p, err == nil && p.Outside && a.Scratch.Has(p.Abs), err
}

// scratchHint returns where temporary files can be, for the denial of a path that is
// usual for them; "" for other paths.
func (a *Paths) scratchHint(abs string) string {
	usual := slices.ContainsFunc(temporaryFiles, func(dir string) bool { return pathtree.Within(abs, dir) })
	if a.Profile.Hides("bash") || a.Scratch.Tmp == "" || !usual && !a.Scratch.Has(abs) {
		return ""
	}
	return "paths in $TMPDIR, in bash commands only"
}

// External is the permission for a path outside the workspace. OpenCode's rules
// name a directory with "/*" appended.
func (a *Paths) External(perm string, p workspace.Path) permission.Request {
	r := permission.Need(perm, p.Abs, p.Abs+"/*", path.Dir(p.Abs)+"/*")
	r.Instead = a.scratchHint(p.Abs)
	return r
}
