package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/store"
)

// Commits reads the commits of a repository. It is safe for concurrent use.
type Commits struct {
	Git *gitdir.Dir // read-only

	listed listings
	roots  roots
}

// Message returns the message of a commit, given by its hash.
func (c *Commits) Message(commit string) (string, error) {
	found, err := c.Git.Objects.Commit(plumbing.NewHash(commit))
	if err == nil && found == nil {
		err = plumbing.ErrObjectNotFound
	}
	if err != nil {
		return "", fmt.Errorf("message of commit %s: %w", commit, err)
	}
	return found.Message, nil
}

// Signed reports whether a commit has a signature, which may be invalid.
func (c *Commits) Signed(commit string) (bool, error) {
	found, err := c.Git.Objects.Commit(plumbing.NewHash(commit))
	if err != nil || found == nil {
		return false, err
	}
	return found.PGPSignature != "", nil
}

// FirstParents returns the hashes of a commit and of its first-parent ancestors
// that are available, at most so many.
func (c *Commits) FirstParents(commit string, most int) ([]string, error) {
	var line []string
	for next := plumbing.NewHash(commit); len(line) < most; {
		found, err := c.Git.Objects.Commit(next)
		if err != nil {
			return nil, fmt.Errorf("history of commit %s: %w", commit, err)
		}
		if found == nil {
			break
		}
		if line = append(line, next.String()); len(found.ParentHashes) == 0 {
			break
		}
		next = found.ParentHashes[0]
	}
	return line, nil
}

// Touched returns the sorted paths that differ between two commits. The first
// may be "" for no commit.
func (c *Commits) Touched(from, to string) ([]string, error) {
	before, err := c.SnapshotOf(from)
	if err != nil {
		return nil, err
	}
	after, err := c.SnapshotOf(to)
	if err != nil {
		return nil, err
	}
	var paths []string
	for path, is := range after.ByPath() {
		if before.ByPath()[path] != is {
			paths = append(paths, path)
		}
	}
	for path := range before.ByPath() {
		if _, ok := after.ByPath()[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// Has reports whether a commit's tree has a file, symlink, submodule or
// directory at a path, which is slash-separated, clean, and relative to the
// root ("" or ".").
func (c *Commits) Has(commit, name string) (bool, error) {
	mode, err := modeAt(c, commit, name)
	return mode != 0, err
}

// HasDir reports whether a commit's tree has a directory at a path, which is given
// as for Has.
func (c *Commits) HasDir(commit, name string) (bool, error) {
	mode, err := modeAt(c, commit, name)
	return mode == filemode.Dir, err
}

// File returns the content of a file of a commit's tree, by a path as for Has. The error of a
// file that is missing is [fs.ErrNotExist].
func (c *Commits) File(commit, name string) ([]byte, error) {
	if commit == "" || plumbing.NewHash(commit).IsZero() {
		return nil, fmt.Errorf("find %s: %w", name, ErrNoCommit)
	}
	entry, err := c.entryAt(commit, name)
	if err != nil {
		return nil, fmt.Errorf("find %s in commit %s: %w", name, commit, err)
	}
	if !entry.Mode.IsFile() || entry.Mode == filemode.Symlink {
		return nil, fmt.Errorf("%s in commit %.10s: %w", name, commit, fs.ErrNotExist)
	}
	return c.Git.Objects.Blob(entry.Hash)
}

// ErrNoCommit is the error of a file of the commit in a repository without one.
var ErrNoCommit = errors.New("the repository has no commit yet: commit the file first")

// modeAt returns the mode of an entry of a commit's tree, 0 if it is missing, as is all
// without a commit ("").
func modeAt(c *Commits, commit, name string) (filemode.FileMode, error) {
	if commit == "" || plumbing.NewHash(commit).IsZero() {
		return 0, nil
	}
	entry, err := c.entryAt(commit, name)
	if err != nil {
		return 0, fmt.Errorf("find %s in commit %s: %w", name, commit, err)
	}
	return entry.Mode, nil
}

func (c *Commits) entryAt(commit, name string) (object.TreeEntry, error) {
	root, err := c.roots.of(c, commit)
	entry := object.TreeEntry{Mode: filemode.Dir, Hash: root.hash}
	if err != nil || name == "" || name == "." {
		return entry, err
	}
	if path.Clean(name) != name || name[0] == '/' || strings.HasPrefix(name, "../") || name == ".." {
		return object.TreeEntry{}, errors.New("not a clean relative path")
	}
	entries := root.entries
	for i, component := range strings.Split(name, "/") {
		if entry.Mode != filemode.Dir || entry.Hash == objectdb.EmptyTree {
			return object.TreeEntry{}, nil
		}
		if i > 0 {
			if entries, err = c.Git.Objects.Tree(entry.Hash); err != nil {
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
func (l *roots) of(c *Commits, commit string) (root, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if commit == l.commit && commit != "" {
		return l.last, nil
	}
	tree, err := c.Git.Objects.RootTree(plumbing.NewHash(commit))
	found := root{hash: tree}
	if err == nil && tree != objectdb.EmptyTree {
		found.entries, err = c.Git.Objects.Tree(tree)
	}
	if err != nil {
		return root{}, err
	}
	l.commit, l.last = commit, found
	return found, nil
}

// SnapshotOf returns the tree of a commit; "" is the empty tree.
func (c *Commits) SnapshotOf(commit string) (*Snapshot, error) {
	if s := c.listed.of(commit); s != nil {
		return s, nil
	}
	s := &Snapshot{byPath: map[string]store.State{}}
	if commit == "" {
		return s, nil
	}
	root, err := c.Git.Objects.RootTree(plumbing.NewHash(commit))
	if err == nil {
		err = s.addTree(c.Git.Objects, root, "", 0)
	}
	if err != nil {
		return nil, fmt.Errorf("list commit %s: %w", commit, err)
	}
	c.listed.add(commit, s)
	return s, nil
}

// listingBy returns the snapshot of a commit, whose files are listed by an index when it is used; nil if
// the index does not have exactly its files.
func (c *Commits) listingBy(idx *gitdir.Index, commit string) (*Snapshot, error) {
	if commit == "" || c.Git.Objects.Replaces() {
		return nil, nil
	}
	root, err := c.Git.Objects.RootTree(plumbing.NewHash(commit))
	if err != nil || !idx.Lists(root) {
		return nil, err
	}
	if s := c.Listed(commit); s != nil {
		return s, nil
	}
	s := &Snapshot{}
	s.list = sync.OnceFunc(func() {
		s.byPath = make(map[string]store.State, len(idx.Entries))
		for i, path := range ownPaths(idx) {
			s.byPath[path] = EntryState(&idx.Entries[i])
		}
	})
	c.listed.add(commit, s)
	return s, nil
}

// Listed returns the tree of a commit if it is in use anywhere, otherwise nil. It is only good for keeping
// it in use until [Reader.SnapshotOf] returns it.
func (c *Commits) Listed(commit string) *Snapshot { return c.listed.of(commit) }

// listings are the snapshots of commits that are in use anywhere: the preflight and the jobs
// of one base share theirs.
type listings struct {
	mu       sync.Mutex
	byCommit map[string]weak.Pointer[Snapshot]
}

// of returns the snapshot of a commit; nil if none is in use.
func (l *listings) of(commit string) *Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byCommit[commit].Value()
}

func (l *listings) add(commit string, s *Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byCommit == nil {
		l.byCommit = map[string]weak.Pointer[Snapshot]{}
	}
	l.byCommit[commit] = weak.Make(s)
}

// RootTree returns the tree of a commit; "" is the empty tree.
func (c *Commits) RootTree(commit string) (string, error) {
	if commit == "" {
		return objectdb.EmptyTree.String(), nil
	}
	root, err := c.roots.of(c, commit)
	return root.hash.String(), err
}
