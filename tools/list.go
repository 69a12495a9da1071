package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/millhand/millhand/internal/workspace"
	"github.com/millhand/millhand/tools/search"
)

//go:embed list.md
var listDescription string

// searchLimit is how many results list, glob and grep give.
const searchLimit = 100

type listInput struct {
	Path   string   `json:"path,omitempty" jsonschema:"folder to list, the workspace's root if not given"`
	Ignore []string `json:"ignore,omitempty" jsonschema:"globs of what to leave out"`
}

func listTool() Tool {
	return Define(Spec{Name: "list", Description: listDescription, ReadOnly: true, Deadline: time.Minute}, prepareList)
}

func prepareList(env *Env, in listInput) (Pending, error) {
	p, err := searchBase(env, in.Path)
	if err != nil {
		return Pending{}, err
	}
	return Pending{Title: p.Rel, Needs: needsOf(env, "list", p, toRead), Do: func(ctx context.Context) (Result, error) {
		scope, done, err := searchScope(env, p)
		if err != nil {
			return Result{}, err
		}
		defer done()
		tree, err := search.List(ctx, scope, search.ListQuery{Ignore: in.Ignore, Limit: searchLimit})
		if err != nil {
			return Result{}, fmt.Errorf("list %s: %w", p.Rel, err)
		}
		out := p.Rel + "/\n" + tree.Text
		if tree.Truncated {
			out += fmt.Sprintf("\n(only %d of %d files are listed: give a path further down)", tree.Files, tree.Total)
		}
		return Result{Output: out, Metadata: map[string]any{"count": tree.Files, "truncated": tree.Truncated}}, nil
	}}, nil
}

// searchBase resolves the place where a search starts.
func searchBase(env *Env, name string) (workspace.Path, error) {
	if name == "" {
		name = "."
	}
	return env.Workspace.Resolve(name)
}

// searchScope opens the place where a search starts; done releases it.
func searchScope(env *Env, p workspace.Path) (scope search.Scope, done func(), err error) {
	if _, err := env.Workspace.Stat(p); errors.Is(err, fs.ErrNotExist) {
		return scope, nil, missing(env, p)
	}
	if !p.Outside {
		return search.Scope{Root: env.Workspace.Root(), Base: p.Rel, Ignore: env.Ignore, Visible: env.visible}, func() {}, nil
	}
	root, base, err := env.Workspace.OpenOutside(p)
	if err != nil {
		return scope, nil, err
	}
	return search.Scope{Root: root, Base: base}, func() { root.Close() }, nil
}
