package state

import (
	"fmt"
	"path/filepath"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Reader reads a repository: the files of its working tree and of its commits. Mirrors have
// no working tree: operations that need one then fail with an *UnsupportedError. It is
// safe for concurrent use.
type Reader struct {
	*Commits
	filters content.Filters
	hashes  *hashes // of the work tree
	tracked *trackedPaths
}

// NewReader returns the reader of an open git directory, which may be that of a mirror.
func NewReader(git *gitdir.Dir) *Reader {
	return &Reader{Commits: &Commits{Git: git}, hashes: &hashes{}, tracked: &trackedPaths{}}
}

// WithFilters returns the reader with other filters.
func (r *Reader) WithFilters(f content.Filters) *Reader {
	with := *r
	with.filters = f
	return &with
}

// Root returns the working tree's directory, absolute and without symlinks; ""
// for a mirror.
func (r *Reader) Root() string { return r.Git.Root }

// Below returns the path of a directory relative to the root of the working
// tree (""), slash-separated. It fails if the directory is outside.
func (r *Reader) Below(dir string) (string, error) {
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

// Unfilterable returns why paths with a filter can't be committed; "" if they can.
func (r *Reader) Unfilterable(name string, pushed bool) string {
	return content.Unfilterable(r.Git, name, pushed)
}

// openWorkTree returns the work tree, to be closed. A private one is read by its own rules alone.
func (r *Reader) openWorkTree(private bool) (*content.Tree, error) {
	return content.Open(r.Git, r.filters, private)
}
