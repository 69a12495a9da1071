package tools

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/workspace"
)

// use is what a call does with a file.
type use int

const (
	toRead use = iota
	toWrite
)

// needFile resolves a path that a model gave and lists what using it needs: an
// external_directory rule outside the workspace, a git rule for writing git's
// files, and the permission itself, by the path's relative and absolute name.
func needFile(env *Env, perm, name string, u use) (workspace.Path, []permission.Request, error) {
	if strings.TrimSpace(name) == "" {
		return workspace.Path{}, nil, fmt.Errorf("path is empty; specify an absolute path or one relative to the workspace")
	}
	p, err := env.Workspace.Resolve(name)
	if err != nil {
		return p, nil, err
	}
	return p, needsOf(env, perm, p, u), nil
}

// needsOf lists what using a resolved path needs.
func needsOf(env *Env, perm string, p workspace.Path, u use) []permission.Request {
	if u == toRead && env.keeps(p) {
		return nil // millhand itself put it there for the model to read
	}
	if u == toRead && env.ofSkill(p) {
		return []permission.Request{permission.Need(perm, names(p)...)}
	}
	needs := placeNeeds(env, p)
	if u == toWrite && p.Git() {
		needs = append(needs, permission.Need(permission.Git, p.Rel))
	}
	return append(needs, permission.Need(perm, names(p)...))
}

// searchNeeds lists what a search from a resolved path needs; its files are
// decided one by one, see [searchScope].
func searchNeeds(env *Env, tool, pattern string, p workspace.Path) []permission.Request {
	needs := []permission.Request{permission.Need(tool, pattern)}
	if env.keeps(p) || env.ofSkill(p) {
		return needs
	}
	return append(append(needs, placeNeeds(env, p)...), lookNeeds(env, p)...)
}

// lookNeeds refuses to look for a file that the read rules deny, in the same words
// whether or not there is one. In a directory only what they allow is found.
func lookNeeds(env *Env, p workspace.Path) []permission.Request {
	if info, err := env.Workspace.Stat(p); err == nil && info.IsDir() {
		return nil
	}
	return withDirNames([]permission.Request{permission.Need("read", names(p)...)})
}

// placeNeeds lists what a file tool needs to use the place of a path, whatever
// it does there. The tools run in millhand's own process, so that in /proc they
// would find its environment, which holds keys: no rule opens that.
func placeNeeds(env *Env, p workspace.Path) []permission.Request {
	if env.private(p.Abs) {
		return []permission.Request{{Permission: permission.ExternalDirectory, Subjects: []string{p.Abs}, Forbidden: "run reports are written by millhand only and are not accessible to agents"}}
	}
	if p.Abs == "/proc" || strings.HasPrefix(p.Abs, "/proc/") {
		return []permission.Request{{Permission: permission.ExternalDirectory, Subjects: []string{p.Abs}, Forbidden: "file tools can't access /proc"}}
	}
	if p.Outside && !everywhere(p) {
		return []permission.Request{external(permission.ExternalDirectory, p)}
	}
	return nil
}

// everywhere reports whether a path is one of the devices that belong to every
// process: they are never outside, though no file tool can use one.
func everywhere(p workspace.Path) bool {
	switch p.Abs {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd":
		return true
	}
	return strings.HasPrefix(p.Abs, "/dev/fd/")
}

// names are a path's names for rules to match, that for people first.
func names(p workspace.Path) []string {
	if p.Outside {
		return []string{p.Abs}
	}
	return []string{p.Rel, p.Abs}
}

// external is the need for a place outside the workspace. OpenCode's rules
// name the directory with "/*" behind it.
func external(perm string, p workspace.Path) permission.Request {
	return permission.Need(perm, p.Abs, p.Abs+"/*", path.Dir(p.Abs)+"/*")
}

// keeps reports whether the path is an output that was kept for the model.
func (env *Env) keeps(p workspace.Path) bool {
	if env.Outputs == nil {
		return false
	}
	dir, err := env.Workspace.Resolve(env.Outputs.Path()) // it may be behind a symlink, as TMPDIR is on macOS
	return err == nil && strings.HasPrefix(p.Abs, strings.TrimSuffix(dir.Abs, "/")+"/")
}

// private reports whether an absolute path is a private directory or lies in
// one.
func (env *Env) private(abs string) bool {
	return slices.ContainsFunc(env.Private, func(dir string) bool { return abs == dir || strings.HasPrefix(abs, dir+"/") })
}

// readable reports whether the read rules allow a file of these names: only
// then may a search show it.
func (env *Env) readable(names ...string) bool {
	return !slices.ContainsFunc(names, env.private) && env.Profile.Allows("read", names...)
}
