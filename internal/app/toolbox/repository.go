package toolbox

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tools"
)

// hideHeaders removes the credentials from the configuration of a directory's
// repository, as a run does, and returns them.
func hideHeaders(ctx context.Context, w world.World, dir string) (secrets []string, restore func(), err error) {
	repo, err := gitops.Open(dir, w.GitEnv())
	if err != nil {
		return nil, func() {}, nil //nolint:nilerr // without a repository there are none
	}
	if secrets, err = credentials.Secrets(repo.Git); err != nil {
		return nil, nil, err
	}
	back, err := credentials.Hide(ctx, repo.Git)
	return secrets, func() {
		if err := back(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
		}
	}, err
}

// ignored returns what is ignored in a directory by its repository, if any.
func ignored(dir string, w world.World) tools.Ignored {
	repo, err := gitops.Open(dir, w.GitEnv())
	if err != nil {
		return tools.Ignored{}
	}
	below, err := repo.Below(dir)
	if err != nil {
		return tools.Ignored{}
	}
	tree, err := repo.IgnoredBelow(below, "")
	if err != nil {
		return tools.Ignored{}
	}
	return tools.Ignored{Rules: tree.Rules, Tracked: tree.Tracked}
}
