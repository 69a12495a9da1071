package gitops

import (
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/state"
	"github.com/millhand/millhand/internal/gitops/store"
)

// Repo is a git repository with its working tree, or a mirror without one;
// operations that need a working tree then fail with an *UnsupportedError. It
// is safe for concurrent use.
type Repo struct {
	*state.Reader
	worktrees *worktrees
	packing   *store.Packing // shared with the worktrees that are added
}

// Open opens the repository whose work tree holds the directory. Linked worktrees
// open like any other. The error matches ErrNotRepository if missing and is an
// *UnsupportedError if the repository is of a kind that can't be handled.
func Open(dir string, env gitdir.Env) (*Repo, error) {
	r, err := open(dir, env)
	switch {
	case errors.Is(err, gitdir.ErrNotRepository):
		return nil, fmt.Errorf("open repository %s: %w; run git init and commit its files there, or write repos: [{copy: DIR}] to work on a private copy", dir, err)
	case err != nil:
		return nil, fmt.Errorf("open repository %s: %w", dir, err)
	}
	return r, nil
}

func open(dir string, env gitdir.Env) (*Repo, error) {
	git, err := gitdir.Open(dir, env)
	if err != nil {
		return nil, err
	}
	return New(git), nil
}

// New returns the repository of an open git directory, which may be that of a mirror.
func New(git *gitdir.Dir) *Repo {
	return &Repo{state.NewReader(git), &worktrees{git: git, added: map[string]string{}}, store.NewPacking()}
}

// WithFilters returns the repository with other filters.
func (r *Repo) WithFilters(f content.Filters) *Repo {
	with := *r
	with.Reader = r.Reader.WithFilters(f)
	return &with
}
