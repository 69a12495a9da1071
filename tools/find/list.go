// Package find has the tools list, glob and grep. It does not search itself: package search does, and package
// access resolves the paths.
package find

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/search"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed list.md
var listDescription string

// searchLimit is the maximum number of results of list, glob and grep.
const searchLimit = 100

// Env is what the tools need of a session.
type Env struct {
	*access.Paths
	Ignore   search.Ignored // what git ignores in the workspace, in addition to its own .gitignore files
	Searches *search.Cache  // nil: none
}

type listInput struct {
	Path   string   `json:"path,omitempty" jsonschema:"directory to list (default: the workspace root)"`
	Ignore []string `json:"ignore,omitempty" jsonschema:"globs of files and directories to skip"`
}

// List returns the tool list.
func List() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "list", Description: listDescription, ReadOnly: true, Cached: true, Deadline: time.Minute}, prepareList)
}

func prepareList(env Env, in listInput) (tool.Pending, error) {
	p, err := searchBase(env, in.Path)
	if err != nil {
		return tool.Pending{}, err
	}
	return tool.Pending{Title: p.Rel, Needs: append(env.NeedsOf("list", p, access.ToRead), env.LookNeeds(p)...), Do: func(ctx context.Context) (tool.Result, error) {
		scope, done, err := searchScope(env, p)
		if err != nil {
			return tool.Result{}, err
		}
		defer done()
		tree, err := search.List(ctx, scope, search.ListQuery{Ignore: in.Ignore, Limit: searchLimit})
		if err != nil {
			return tool.Result{}, fmt.Errorf("list %s: %w", p, err)
		}
		out := strings.TrimSuffix(p.String(), "/") + "/\n" + tree.Text
		if tree.Truncated {
			out += fmt.Sprintf("\n(results truncated: showing %d of %d files; list a subdirectory instead)", tree.Files, tree.Total)
		}
		out += skippedNote(tree.Skipped)
		return tool.Result{Output: out}, nil
	}}, nil
}

// searchBase resolves the path where a search starts.
func searchBase(env Env, name string) (workspace.Path, error) {
	if name == "" {
		name = "."
	}
	return env.Resolve(name)
}

// searchScope opens the path where a search starts; done releases it. Files
// that the read rules deny are not found.
func searchScope(env Env, p workspace.Path) (scope search.Scope, done func(), err error) {
	if _, err := env.Workspace.Stat(p); access.IsMissing(err) {
		return scope, nil, env.NotFound(p)
	}
	if !p.Outside {
		return search.Scope{Root: env.Workspace.Root(), Base: p.Rel, Ignore: env.Ignore, Visible: env.ReadableIn(env.Workspace.Dir(), true), Cache: env.Searches}, func() {}, nil
	}
	root, base, err := env.Workspace.OpenOutside(p)
	if err != nil {
		return scope, nil, err
	}
	scope = search.Scope{Root: root, Base: base, Cache: env.Searches}
	if !env.IsSavedOutput(p) {
		scope.Visible = env.ReadableIn(root.Name(), false)
	}
	return scope, func() { root.Close() }, nil
}

// foundName returns the path by which the model can read a file that a search
// from p found; the root of the search is not always the workspace.
func foundName(p workspace.Path, scope search.Scope, rel string) string {
	if p.Outside {
		return path.Join(scope.Root.Name(), rel)
	}
	return rel
}

// skippedNote returns a note about files that a search could not process, or
// "".
func skippedNote(s search.Skipped) string {
	if text := s.String(); text != "" {
		return "\n(" + text + ")"
	}
	return ""
}
