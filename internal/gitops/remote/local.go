package remote

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// localSource is a source that is read by this package itself. Its whole history comes,
// whatever depth is asked for.
type localSource struct {
	git *gitdir.Dir
	has offering
}

// openDirectory opens a repository on this machine, bare or not.
func openDirectory(dir string) (*localSource, error) {
	git, err := gitdir.OpenAt(dir, gitdir.Env{})
	if gitdir.Absent(err) || errors.Is(err, gitdir.ErrNotRepository) {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	f := &localSource{git: git}
	return f, f.list()
}

func (f *localSource) list() error {
	refs, err := f.git.Refs()
	if err != nil {
		return err
	}
	f.has = offering{refs: map[string]plumbing.Hash{}}
	for name, hash := range refs {
		f.has.add(name, hash)
	}
	if target, hash, err := f.git.ReadHead(); err == nil {
		f.has.at = hash
		f.has.nameHead(target)
	}
	f.has.shallow, err = f.git.Shallow()
	return err
}

func (f *localSource) offering() offering { return f.has }

func (f *localSource) close() {}
