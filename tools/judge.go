package tools

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/webfetch"
)

// Needs lists the permissions that a call of a tool would need, given only its
// subject: a command line for bash, a path for the file tools, a pattern, URL
// or name for others. It serves to explain and test rules without a call. An
// unknown tool needs the permission of its own name.
func Needs(env *Env, tool, subject string) ([]permission.Request, error) {
	perm := permission.ForTool(tool)
	switch perm {
	case "bash":
		return env.commands().Needs(subject)
	case "edit":
		_, needs, err := env.paths().Need(perm, subject, access.ToWrite)
		return needs, err
	case "lsp":
		_, needs, err := env.languages().Needs(subject)
		return needs, err
	case "webfetch":
		return webfetch.Needs(env.Profile, perm, subject), nil
	case permission.ExternalDirectory, permission.ExternalRead:
		p, err := env.Workspace.Resolve(strings.TrimSuffix(subject, "/*"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", perm, err)
		}
		return []permission.Request{env.paths().External(perm, p)}, nil
	}
	if permission.IsOfPaths(perm) {
		_, needs, err := env.paths().Need(perm, subject, access.ToRead)
		return needs, err
	}
	return []permission.Request{permission.Need(perm, subject)}, nil
}

// Decide returns the decision on each permission that a call needs. The first
// denial decides the call.
func Decide(env *Env, tool, subject string) ([]permission.Decision, error) {
	needs, err := Needs(env, tool, subject)
	if err != nil {
		return nil, err
	}
	decisions := make([]permission.Decision, 0, len(needs))
	for _, n := range needs {
		decisions = append(decisions, env.Profile.Decide(n))
	}
	return decisions, nil
}

// NeedsOf lists the permissions that a call would need, without running it. The profile of
// env decides only which hosts are reached. A call of an unknown tool needs the permission of
// its own name; invalid arguments are an error.
func (r *Registry) NeedsOf(env *Env, call Call) ([]permission.Request, error) {
	tool, ok := r.lookup(call.Name)
	if !ok {
		return []permission.Request{permission.Need(permission.ForTool(plainToolName(call.Name)), "*")}, nil
	}
	pending, err := prepare(tool, env, call)
	return pending.Needs, err
}
