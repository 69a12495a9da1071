package tools

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/tools/skill"
)

// use is the access of a call to a file.
type use int

const (
	toRead use = iota
	toWrite
)

// needFile resolves a path from a model and lists the permissions for using it:
// external_directory outside the workspace, git for writing git's files, and
// perm itself, for the relative and the absolute path.
func needFile(env *Env, perm, name string, u use) (workspace.Path, []permission.Request, error) {
	if strings.TrimSpace(name) == "" {
		return workspace.Path{}, nil, fmt.Errorf("path is empty; specify an absolute path or one relative to the workspace")
	}
	p, err := env.resolve(name)
	if err != nil {
		return p, nil, err
	}
	return p, needsOf(env, perm, p, u), nil
}

// resolve resolves a path from a model. "~" is the home directory of commands.
func (env *Env) resolve(name string) (workspace.Path, error) {
	spelled, err := env.spelled(name)
	if err != nil {
		return workspace.Path{}, err
	}
	return env.Workspace.Resolve(spelled)
}

// spelled returns the path that a model means.
func (env *Env) spelled(name string) (string, error) {
	return env.Workspace.Spelled(name, proc.Value(env.ChildEnv, "HOME"))
}

// needsOf lists the permissions for using a resolved path.
func needsOf(env *Env, perm string, p workspace.Path, u use) []permission.Request {
	if u == toRead && env.isSavedOutput(p) {
		return nil // saved by millhand for the model to read
	}
	if u == toRead && env.ofSkill(p) {
		return []permission.Request{permission.Need(perm, names(p)...)}
	}
	needs := pathNeeds(env, p)
	if u == toWrite && p.Git() {
		needs = append(needs, permission.Need(permission.Git, p.Rel))
	}
	return append(needs, permission.Need(perm, names(p)...))
}

// searchNeeds lists the permissions for searching below a resolved path; the
// files are decided one by one, see [searchScope].
func searchNeeds(env *Env, tool, pattern string, p workspace.Path) []permission.Request {
	needs := []permission.Request{permission.Need(tool, pattern)}
	if env.isSavedOutput(p) || env.ofSkill(p) {
		return needs
	}
	return append(append(needs, pathNeeds(env, p)...), lookNeeds(env, p)...)
}

// lookNeeds denies searching a file that the read rules deny, with the same
// text whether or not it exists. Below a directory, only files that they allow
// are found.
func lookNeeds(env *Env, p workspace.Path) []permission.Request {
	if info, err := env.Workspace.Stat(p); err == nil && info.IsDir() {
		return nil
	}
	return withDirNames([]permission.Request{permission.Need("read", names(p)...)})
}

// pathNeeds lists the permissions that a file tool needs for the location of a
// path, for any access. The tools run in millhand's own process, so /proc would
// show them its environment with the API keys: no rule allows that.
func pathNeeds(env *Env, p workspace.Path) []permission.Request {
	if env.private(p.Abs) {
		return []permission.Request{{Permission: permission.ExternalDirectory, Subjects: []string{p.Abs}, Forbidden: "files of millhand (reports, keys) are not accessible to agents, nor are files of the system that other users can't read unless a rule names them or their directory"}}
	}
	if p.Abs == "/proc" || strings.HasPrefix(p.Abs, "/proc/") {
		return []permission.Request{{Permission: permission.ExternalDirectory, Subjects: []string{p.Abs}, Forbidden: "file tools can't access /proc"}}
	}
	if p.Outside && !everywhere(p) {
		return []permission.Request{env.external(permission.ExternalDirectory, p)}
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

// names returns the forms of a path that rules match; the first is the one
// shown to people.
func names(p workspace.Path) []string {
	if p.Outside {
		return []string{p.Abs}
	}
	return []string{p.Rel, p.Abs}
}

// isSavedOutput reports whether the path is an output saved for the model.
func (env *Env) isSavedOutput(p workspace.Path) bool {
	if env.Outputs == nil {
		return false
	}
	dir, err := env.Workspace.Resolve(env.Outputs.Path()) // it may be behind a symlink, as TMPDIR is on macOS
	return err == nil && pathtree.Within(p.Abs, dir.Abs)
}

// private reports whether an absolute path is a private directory or lies in
// one.
func (env *Env) private(abs string) bool {
	return slices.ContainsFunc(env.Private, func(dir string) bool { return pathtree.Within(abs, dir) })
}

// readable reports whether the read rules allow a file with these names; only
// then may a search return it.
func (env *Env) readable(names ...string) bool {
	return !slices.ContainsFunc(names, env.private) && env.Profile.Allows("read", names...)
}

// readableIn returns readable for the many files of a tree, given relative to its directory;
// with relative, this name is one of the names.
func (env *Env) readableIn(dir string, relative bool) func(rel string) bool {
	allowed := env.Profile.Readable(dir, relative)
	if env.private(dir) {
		return func(string) bool { return false }
	}
	var private []string // relative, with a slash at the end
	for _, p := range env.Private {
		if rel, err := filepath.Rel(dir, p); err == nil && filepath.IsLocal(rel) {
			private = append(private, rel+"/")
		}
	}
	return func(rel string) bool { return !hidden(rel, private) && allowed(rel) }
}

// hidden reports whether a clean path is a directory, of those that end with a slash, or lies in one.
func hidden(rel string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return strings.HasPrefix(rel, dir) || rel == dir[:len(dir)-1]
	})
}

// ofSkill reports whether a path outside the workspace is in the directory of
// an allowed skill; its files may be read if the read rules allow it.
func (env *Env) ofSkill(p workspace.Path) bool {
	return p.Outside && slices.ContainsFunc(env.Skills.Allowed(env.Profile), func(s skill.Skill) bool {
		dir, err := env.Workspace.Resolve(s.Dir)
		return err == nil && pathtree.Within(p.Abs, dir.Abs)
	})
}
