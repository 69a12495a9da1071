package tools

import (
	"fmt"
	"path"
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
		return workspace.Path{}, nil, fmt.Errorf("the path is empty: give one relative to the workspace, or absolute")
	}
	p, err := env.Workspace.Resolve(name)
	if err != nil {
		return p, nil, err
	}
	return p, needsOf(env, perm, p, u), nil
}

// needsOf lists what using a resolved path needs.
func needsOf(env *Env, perm string, p workspace.Path, u use) []permission.Request {
	var needs []permission.Request
	switch {
	case p.Outside && u == toRead && env.keeps(p):
		return nil // millhand itself put it there for the model to read
	case p.Outside:
		needs = append(needs, external(permission.ExternalDirectory, p))
	}
	if u == toWrite && p.Git() {
		needs = append(needs, permission.Need(permission.Git, p.Rel))
	}
	return append(needs, permission.Need(perm, names(p)...))
}

// names are a path's names for rules to match, that for people first.
func names(p workspace.Path) []string {
	if p.Outside {
		return []string{p.Abs}
	}
	return []string{p.Rel, p.Abs}
}

// external is the need for a place outside the workspace. OpenCode's rules
// name the folder with "/*" behind it.
func external(perm string, p workspace.Path) permission.Request {
	return permission.Need(perm, p.Abs, p.Abs+"/*", path.Dir(p.Abs)+"/*")
}

// keeps reports whether the path is an output that was kept for the model.
func (env *Env) keeps(p workspace.Path) bool {
	return env.Outputs != "" && strings.HasPrefix(p.Abs, strings.TrimSuffix(env.Outputs, "/")+"/")
}

// visible reports whether a search may show a path: whether it could be read.
func (env *Env) visible(rel string) bool {
	return env.Profile.Decide(permission.Need("read", rel, path.Join(env.Workspace.Dir(), rel))).Allowed()
}
