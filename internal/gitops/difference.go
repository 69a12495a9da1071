package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Version is a path that differs between two commits, as it is in the second one.
type Version struct {
	Path    string
	Kind    string // "" for a regular file that is not executable, else what it is
	Content []byte // of such a file
	Deleted bool
}

// Difference returns the paths that differ between two commits. Contents of more than most
// bytes in total are an error.
func (r *Repo) Difference(from, to string, most int64) ([]Version, error) {
	paths, err := r.Touched(from, to)
	if err != nil {
		return nil, err
	}
	var all []Version
	for _, path := range paths {
		v := Version{Path: path}
		e, err := r.entryAt(to, path)
		switch {
		case err != nil:
			return nil, err
		case e.Mode == 0:
			v.Deleted = true
		case e.Mode == filemode.Regular:
			if v.Content, err = r.Git.Objects.Blob(e.Hash); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if most -= int64(len(v.Content)); most < 0 {
				return nil, errors.New("the changed files are too large")
			}
		default:
			v.Kind = map[filemode.FileMode]string{filemode.Executable: "an executable file", filemode.Symlink: "a symlink", filemode.Submodule: "a submodule"}[e.Mode]
			if v.Kind == "" {
				v.Kind = "of mode " + e.Mode.String()
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// MoveBranch moves a branch from one commit to another.
func (r *Repo) MoveBranch(ctx context.Context, branch, from, to string, by Signature) error {
	name := gitdir.BranchPrefix + branch
	ref, err := r.Git.LockBranch(ctx, name, plumbing.NewHash(to), gitdir.Expectation{Hash: plumbing.NewHash(from), Taken: gitdir.ErrConflict})
	if err != nil {
		return fmt.Errorf("move branch %s: %w", branch, err)
	}
	defer ref.Release()
	if err := ref.Set(plumbing.NewHash(to)); err != nil {
		return fmt.Errorf("move branch %s: %w", branch, err)
	}
	r.Git.AppendReflog(name, false, gitdir.ReflogEntry{Old: plumbing.NewHash(from), New: plumbing.NewHash(to), By: by.String(), Subject: "signed by the forge"})
	return nil
}
