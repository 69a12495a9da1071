package gitops

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Message returns the message of a commit, given by its hash.
func (r *Repo) Message(commit string) (string, error) {
	c, err := r.Git.Objects.Commit(plumbing.NewHash(commit))
	if err == nil && c == nil {
		err = plumbing.ErrObjectNotFound
	}
	if err != nil {
		return "", fmt.Errorf("message of commit %s: %w", commit, err)
	}
	return c.Message, nil
}

// Signed reports whether a commit has a signature, which may be invalid.
func (r *Repo) Signed(commit string) (bool, error) {
	c, err := r.Git.Objects.Commit(plumbing.NewHash(commit))
	if err != nil || c == nil {
		return false, err
	}
	return c.PGPSignature != "", nil
}

// FirstParents returns the hashes of a commit and of its first-parent ancestors
// that are available, at most so many.
func (r *Repo) FirstParents(commit string, most int) ([]string, error) {
	var line []string
	for next := plumbing.NewHash(commit); len(line) < most; {
		c, err := r.Git.Objects.Commit(next)
		if err != nil {
			return nil, fmt.Errorf("history of commit %s: %w", commit, err)
		}
		if c == nil {
			break
		}
		if line = append(line, next.String()); len(c.ParentHashes) == 0 {
			break
		}
		next = c.ParentHashes[0]
	}
	return line, nil
}

// Touched returns the sorted paths that differ between two commits. The first
// may be "" for no commit.
func (r *Repo) Touched(from, to string) ([]string, error) {
	before, err := r.SnapshotOf(from)
	if err != nil {
		return nil, err
	}
	after, err := r.SnapshotOf(to)
	if err != nil {
		return nil, err
	}
	var paths []string
	for path, is := range after.files() {
		if before.files()[path] != is {
			paths = append(paths, path)
		}
	}
	for path := range before.files() {
		if _, ok := after.files()[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// Has reports whether a commit's tree has a file, symlink, submodule or
// directory at a path, which is slash-separated, clean, and relative to the
// root ("" or ".").
func (r *Repo) Has(commit, name string) (bool, error) {
	mode, err := modeAt(r, commit, name)
	return mode != 0, err
}

// HasDir reports whether a commit's tree has a directory at a path, which is given
// as for Has.
func (r *Repo) HasDir(commit, name string) (bool, error) {
	mode, err := modeAt(r, commit, name)
	return mode == filemode.Dir, err
}

// File returns the content of a file of a commit's tree, by a path as for Has. The error of a
// file that is missing is [fs.ErrNotExist].
func (r *Repo) File(commit, name string) ([]byte, error) {
	if commit == "" || plumbing.NewHash(commit).IsZero() {
		return nil, fmt.Errorf("find %s: %w", name, ErrNoCommit)
	}
	entry, err := r.entryAt(commit, name)
	if err != nil {
		return nil, fmt.Errorf("find %s in commit %s: %w", name, commit, err)
	}
	if !entry.Mode.IsFile() || entry.Mode == filemode.Symlink {
		return nil, fmt.Errorf("%s in commit %.10s: %w", name, commit, fs.ErrNotExist)
	}
	return r.Git.Objects.Blob(entry.Hash)
}

// ErrNoCommit is the error of a file of the commit in a repository without one.
var ErrNoCommit = errors.New("the repository has no commit yet: commit the file first")

// modeAt returns the mode of an entry of a commit's tree, 0 if it is missing, as is all
// without a commit ("").
func modeAt(r *Repo, commit, name string) (filemode.FileMode, error) {
	if commit == "" || plumbing.NewHash(commit).IsZero() {
		return 0, nil
	}
	entry, err := r.entryAt(commit, name)
	if err != nil {
		return 0, fmt.Errorf("find %s in commit %s: %w", name, commit, err)
	}
	return entry.Mode, nil
}

func (r *Repo) entryAt(commit, name string) (object.TreeEntry, error) {
	root, err := r.roots.of(r, commit)
	entry := object.TreeEntry{Mode: filemode.Dir, Hash: root.hash}
	if err != nil || name == "" || name == "." {
		return entry, err
	}
	if path.Clean(name) != name || name[0] == '/' || strings.HasPrefix(name, "../") || name == ".." {
		return object.TreeEntry{}, errors.New("not a clean relative path")
	}
	entries := root.entries
	for i, component := range strings.Split(name, "/") {
		if entry.Mode != filemode.Dir || entry.Hash == gitdir.EmptyTree {
			return object.TreeEntry{}, nil
		}
		if i > 0 {
			if entries, err = r.Git.Objects.Tree(entry.Hash); err != nil {
				return object.TreeEntry{}, err
			}
		}
		at := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == component })
		if at < 0 {
			return object.TreeEntry{}, nil
		}
		entry = entries[at]
	}
	return entry, nil
}

// roots remembers the tree of the last commit that was asked for, with its entries: jobs of one base
// look for the same few files in it.
type roots struct {
	mu     sync.Mutex
	commit string
	last   root
}

// root is the tree of a commit.
type root struct {
	hash    plumbing.Hash
	entries []object.TreeEntry // never changed
}

// of returns the tree of a commit of a repository.
func (l *roots) of(r *Repo, commit string) (root, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if commit == l.commit && commit != "" {
		return l.last, nil
	}
	tree, err := r.Git.Objects.RootTree(plumbing.NewHash(commit))
	found := root{hash: tree}
	if err == nil && tree != gitdir.EmptyTree {
		found.entries, err = r.Git.Objects.Tree(tree)
	}
	if err != nil {
		return root{}, err
	}
	l.commit, l.last = commit, found
	return found, nil
}
