package gitops

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Repo is a git repository with its working tree, or a mirror without one;
// operations that need a working tree then fail with an *UnsupportedError. It
// is safe for concurrent use.
type Repo struct {
	Git *gitdir.Dir // read-only

	worktrees *worktrees
	filters   Filters
	listed    *listings
	hashes    *hashes // of the work tree
	roots     *roots
	tracked   *trackedPaths

	packing *packing // shared with the worktrees that are added
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
	return &Repo{Git: git, worktrees: &worktrees{git: git, added: map[string]string{}}, listed: &listings{}, hashes: &hashes{}, roots: &roots{}, tracked: &trackedPaths{}, packing: newPacking()}
}

// Root returns the working tree's directory, absolute and without symlinks; ""
// for a mirror.
func (r *Repo) Root() string { return r.Git.Root }

// Below returns the path of a directory relative to the root of the working
// tree (""), slash-separated. It fails if the directory is outside.
func (r *Repo) Below(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(r.Git.Root, real)
	if err != nil || !filepath.IsLocal(below) {
		return "", fmt.Errorf("%s is not in the working tree %s", dir, r.Git.Root)
	}
	if below == "." {
		return "", nil
	}
	return filepath.ToSlash(below), nil
}
