package toolbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge/credentials"
	"github.com/millhand/millhand/internal/gitops"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/tools"
)

// repository opens the repository that a directory is in; nil for none. One of a kind that can't be handled
// is an error, as for a run: its credentials could not be hidden, nor its git directory be protected.
func repository(w world.World, dir string) (*gitops.Repo, error) {
	repo, err := gitops.Open(dir, w.GitEnv())
	switch {
	case errors.Is(err, gitdir.ErrNotRepository):
		return nil, nil
	case err != nil:
		return nil, fault.Wrap(event.ExitUsage, err)
	}
	return repo, nil
}

// hideHeaders removes the credentials from the configuration of a repository, as a run does, and
// returns them. Without a repository there are none.
func hideHeaders(ctx context.Context, w world.World, repo *gitops.Repo) (secrets []string, restore func(), err error) {
	if repo == nil {
		return nil, func() {}, nil
	}
	if secrets, err = credentials.Secrets(repo.Git); err != nil {
		return nil, nil, fault.Wrap(event.ExitPolicy, err)
	}
	back, err := credentials.Hide(ctx, repo.Git)
	if err != nil {
		return nil, nil, fault.Wrap(event.ExitPolicy, err)
	}
	return secrets, func() {
		if err := back(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(w.Err, printable.Text("millhand: "+err.Error()))
		}
	}, nil
}

// ignored returns what is ignored in a directory by its repository, if any.
func ignored(repo *gitops.Repo, dir string) tools.Ignored {
	if repo == nil {
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
