package remote

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// localSource is a source read directly from disk. It always has its full
// history, whatever depth is requested.
type localSource struct {
	git *gitdir.Dir
	has advertised
}

// openDirectory opens a local repository, bare or not.
func openDirectory(dir string) (*localSource, error) {
	git, err := gitdir.OpenAt(dir, gitdir.Env{})
	if sharedfile.Absent(err) || errors.Is(err, gitdir.ErrNotRepository) {
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
	f.has = advertised{refs: map[string]plumbing.Hash{}}
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

func (f *localSource) advertised() advertised { return f.has }

func (f *localSource) close() {}
