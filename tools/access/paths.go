// Package access resolves the paths that models name, and lists the permissions that using them needs; the files of
// allowed skills may be read. [Scratch] has the private directories of commands. It forbids the private files of
// millhand and /proc, and applies the read rules where many files are looked at ([Paths.Readable], [Paths.MayRead]);
// package permission decides all else. It looks at directories, to suggest names, and reads and writes no file.
package access

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools/skill"
)

// Use is the access of a call to a file.
type Use int

// The uses of files.
const (
	ToRead Use = iota
	ToWrite
)

// Paths are the files that the calls of a session can name.
type Paths struct {
	Workspace *workspace.Workspace
	Profile   *permission.Profile
	Home      string     // of commands, for "~"
	Outputs   *files.Dir // of saved outputs, which may be read; nil: none
	Private   []string   // absolute directories that are inaccessible, except for Outputs
	Skills    skill.Set  // whose files may be read
	Scratch   *Scratch   // of commands
	// Concealed reports whether searches don't show a file of the workspace, by its relative path; nil: none.
	Concealed func(rel string) bool
}

// Need resolves a path from a model and lists the permissions for using it:
// external_directory outside the workspace, git for writing git's files, and
// perm itself, for the relative and the absolute path.
func (a *Paths) Need(perm, name string, u Use) (workspace.Path, []permission.Request, error) {
	if strings.TrimSpace(name) == "" {
		return workspace.Path{}, nil, fmt.Errorf("path is empty; specify an absolute path or one relative to the workspace")
	}
	p, err := a.Resolve(name)
	if err != nil {
		return p, nil, err
	}
	return p, a.NeedsOf(perm, p, u), nil
}

// Resolve resolves a path from a model. "~" is the home directory of commands.
func (a *Paths) Resolve(name string) (workspace.Path, error) {
	spelled, err := a.Spelled(name)
	if err != nil {
		return workspace.Path{}, err
	}
	return a.Workspace.Resolve(spelled)
}

// Spelled returns the path that a model means.
func (a *Paths) Spelled(name string) (string, error) {
	return a.Workspace.Spelled(name, a.Home)
}

// NeedsOf lists the permissions for using a resolved path.
func (a *Paths) NeedsOf(perm string, p workspace.Path, u Use) []permission.Request {
	if u == ToRead && a.IsSavedOutput(p) {
		return nil // saved by millhand for the model to read
	}
	if u == ToRead && a.OfSkill(p) {
		return []permission.Request{permission.Need(perm, Names(p)...)}
	}
	needs := a.LocationNeeds(p)
	if u == ToWrite && p.Git() {
		needs = append(needs, permission.Need(permission.Git, p.Rel))
	}
	return append(needs, permission.Need(perm, Names(p)...))
}

// SearchNeeds lists the permissions for searching below a resolved path; the
// files are decided one by one, see [searchScope].
func (a *Paths) SearchNeeds(tool, pattern string, p workspace.Path) []permission.Request {
	needs := []permission.Request{permission.Need(tool, pattern)}
	if a.IsSavedOutput(p) || a.OfSkill(p) {
		return needs
	}
	return append(append(needs, a.LocationNeeds(p)...), a.LookNeeds(p)...)
}

// LookNeeds denies searching a file that the read rules deny, with the same
// text whether or not it exists. Below a directory, only files that they allow
// are found.
func (a *Paths) LookNeeds(p workspace.Path) []permission.Request {
	if info, err := a.Workspace.Stat(p); err == nil && info.IsDir() {
		return nil
	}
	return WithDirNames([]permission.Request{permission.Need("read", Names(p)...)})
}

// LocationNeeds lists the permissions that a file tool needs for the location of a
// path, for any access. The tools run in millhand's own process, so /proc would
// show them its environment with the API keys: no rule allows that.
func (a *Paths) LocationNeeds(p workspace.Path) []permission.Request {
	if a.IsPrivate(p.Abs) {
		return []permission.Request{{Permission: permission.ExternalDirectory, Subjects: []string{p.Abs}, Forbidden: "files of millhand (reports, keys) are not accessible to agents, nor are files of the system that other users can't read unless a rule names them or their directory"}}
	}
	if p.Abs == "/proc" || strings.HasPrefix(p.Abs, "/proc/") {
		return []permission.Request{{Permission: permission.ExternalDirectory, Subjects: []string{p.Abs}, Forbidden: "file tools can't access /proc"}}
	}
	if p.Outside && !everywhere(p) {
		return []permission.Request{a.External(permission.ExternalDirectory, p)}
	}
	return nil
}

// everywhere reports whether a path is a standard device or descriptor of every
// process. These never count as outside, though no file tool can use them.
func everywhere(p workspace.Path) bool {
	switch p.Abs {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd":
		return true
	}
	return strings.HasPrefix(p.Abs, "/dev/fd/")
}

// Names returns the forms of a path that rules match; the first is the one
// shown to people.
func Names(p workspace.Path) []string {
	if p.Outside {
		return []string{p.Abs}
	}
	return []string{p.Rel, p.Abs}
}

// IsSavedOutput reports whether the path is an output saved for the model.
func (a *Paths) IsSavedOutput(p workspace.Path) bool {
	if a.Outputs == nil {
		return false
	}
	dir, err := a.Workspace.Resolve(a.Outputs.Path()) // it may be behind a symlink, as TMPDIR is on macOS
	return err == nil && pathtree.Within(p.Abs, dir.Abs)
}

// IsPrivate reports whether an absolute path is a private directory or lies in
// one.
func (a *Paths) IsPrivate(abs string) bool {
	return slices.ContainsFunc(a.Private, func(dir string) bool { return pathtree.Within(abs, dir) })
}

// Readable reports whether the read rules allow a file with these names; only
// then may a search return it.
func (a *Paths) Readable(names ...string) bool {
	return !slices.ContainsFunc(names, a.IsPrivate) && a.Profile.Allows("read", names...)
}

// ReadableIn returns readable for the many files of a tree, given relative to its directory;
// with relative, this name is one of the names.
func (a *Paths) ReadableIn(dir string, relative bool) func(rel string) bool {
	allowed := a.Profile.Readable(dir, relative)
	if a.IsPrivate(dir) {
		return func(string) bool { return false }
	}
	var private []string // relative, with a slash at the end
	for _, p := range a.Private {
		if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
			private = append(private, rel+"/")
		}
	}
	concealed := a.Concealed
	if !relative || concealed == nil {
		concealed = func(string) bool { return false }
	}
	return func(rel string) bool { return !hidden(rel, private) && allowed(rel) && !concealed(rel) }
}

// hidden reports whether a clean path is a directory, of those that end with a slash, or lies in one.
func hidden(rel string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return strings.HasPrefix(rel, dir) || rel == dir[:len(dir)-1]
	})
}

// OfSkill reports whether a path outside the workspace is in the directory of
// an allowed skill; its files may be read if the read rules allow it.
func (a *Paths) OfSkill(p workspace.Path) bool {
	return p.Outside && slices.ContainsFunc(a.Skills.Allowed(*a.Profile), func(s skill.Skill) bool {
		dir, err := a.Workspace.Resolve(s.Dir)
		return err == nil && pathtree.Within(p.Abs, dir.Abs)
	})
}

// IsMissing reports whether an error means that the file does not exist, or
// that a parent is not a directory.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// IsDir reports whether a path resolves to a directory inside the workspace.
func (a *Paths) IsDir(name string) bool {
	p, err := a.Workspace.Resolve(name)
	if err != nil || p.Outside {
		return false
	}
	st, err := a.Workspace.Stat(p)
	return err == nil && st.IsDir()
}

// MayRead reports whether the rules allow reading a file, by its absolute path.
func (a *Paths) MayRead(path string) bool {
	p, err := a.Workspace.Resolve(path)
	return err == nil && a.Profile.DecideAll(a.NeedsOf("read", p, ToRead)).Allowed()
}

// WithDirNames adds each name with a slash appended. What a command names may
// be a directory, or match files in it by a wildcard, so rules for the
// directory's content must apply.
func WithDirNames(needs []permission.Request) []permission.Request {
	for i, n := range needs {
		if n.Permission == "edit" || n.Permission == "read" {
			for _, name := range n.Subjects {
				needs[i].Subjects = append(needs[i].Subjects, name+"/")
			}
		}
	}
	return needs
}
