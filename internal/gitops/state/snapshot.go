package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/ignore"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/store"
)

// Snapshot is the content of a working tree or of a commit, by path. It is
// immutable.
type Snapshot struct {
	byPath   map[string]store.State   // see files
	refused  map[string]bool          // paths that could not be committed; see walk
	skipped  map[string]bool          // paths of a sparse checkout that it does not have
	contents map[plumbing.Hash][]byte // contents that are not stored as objects, if in memory
	below    string                   // the directory it is limited to; "" for the root
	list     func()                   // sets byPath, once; may be nil
}

// ByPath returns what is at each path. That of a commit may be listed only now.
func (s *Snapshot) ByPath() map[string]store.State {
	if s.list != nil {
		s.list()
	}
	return s.byPath
}

// Below returns the snapshot limited to a directory, slash-separated and
// relative to the root (""). Changes since it are limited to the directory,
// too.
func (s *Snapshot) Below(dir string) *Snapshot {
	if dir == "" {
		return s
	}
	component := &Snapshot{byPath: map[string]store.State{}, refused: s.refused, skipped: s.skipped, contents: s.contents, below: dir}
	for path, at := range s.ByPath() {
		if IsBelow(path, dir) {
			component.byPath[path] = at
		}
	}
	return component
}

// Paths returns the sorted paths of files, symlinks and submodules.
func (s *Snapshot) Paths() []string { return slices.Sorted(maps.Keys(s.ByPath())) }

// Files returns the number of files, symlinks and submodules.
func (s *Snapshot) Files() int { return len(s.ByPath()) }

// Limits for contents held in memory that are only in the working tree: those
// of a snapshot so that later changes can be shown by lines, those of changes
// so that files are not read again for each use.
const (
	maxKeptSize = 1 << 20
	maxKept     = 64 << 20
)

// Snapshot returns the current state of the working tree: tracked files and
// untracked files that are not ignored, whatever the index has of them.
func (r *Reader) Snapshot(ctx context.Context) (*Snapshot, error) {
	return r.snapshotWith(ctx, func(*walk) {})
}

// SnapshotAndLeftOut returns the current state of a working tree, like [Reader.Snapshot], and what it
// leaves out, like [Reader.Untracked], by one walk.
func (r *Reader) SnapshotAndLeftOut(ctx context.Context) (s *Snapshot, left *LeftOut, err error) {
	s, err = r.snapshotWith(ctx, func(w *walk) { left = leftOutOf(w) })
	return s, left, err
}

func (r *Reader) snapshotWith(ctx context.Context, prepare func(*walk)) (*Snapshot, error) {
	rules, err := r.IgnoreRules()
	if err != nil {
		return nil, err
	}
	return r.snapshot(ctx, rules, false, prepare)
}

func (r *Reader) snapshot(ctx context.Context, rules *ignore.Matcher, private bool, prepare func(*walk)) (*Snapshot, error) {
	tree, err := r.openWorkTree(private)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	idx, err := r.Git.Index()
	if err != nil {
		return nil, err
	}
	w := r.newWalk(tree, idx, nil)
	s := &Snapshot{byPath: make(map[string]store.State, len(idx.Entries)), refused: map[string]bool{}, skipped: map[string]bool{}, contents: map[plumbing.Hash][]byte{}}
	w.keep = rememberIn(s.contents)
	prepare(w)
	if err := w.run(ctx, rules); err != nil {
		return nil, err
	}
	for i := range w.files {
		s.byPath[w.files[i].path] = w.files[i].state
	}
	for i, path := range ownPaths(idx) {
		if sparse := w.sparse(i); sparse || w.met[i] == unchanged {
			s.byPath[path] = EntryState(&idx.Entries[i])
			if sparse {
				s.skipped[path] = true
			}
		}
	}
	for _, f := range w.refused {
		s.refused[f.Path] = true
	}
	return s, nil
}

// rememberIn returns a function that adds contents to a map up to a limit.
func rememberIn(contents map[plumbing.Hash][]byte) func(plumbing.Hash, []byte) {
	var mu sync.Mutex
	left := maxKept
	return func(hash plumbing.Hash, data []byte) {
		mu.Lock()
		defer mu.Unlock()
		if len(data) <= min(left, maxKeptSize) {
			left -= len(data)
			contents[hash] = data
		}
	}
}

// sparse reports whether an entry of the index is that of a file that git does not check out.
func (w *walk) sparse(i int) bool {
	e := &w.index.Entries[i]
	return w.met[i] == absent && e.SkipWorktree() && w.only(i) != nil && !content.Outside(e.Path)
}

func (s *Snapshot) addTree(objects *objectdb.Objects, hash plumbing.Hash, dir string, depth int) error {
	if depth > objectdb.MaxDepth {
		return fmt.Errorf("directories nested more than %d levels deep", objectdb.MaxDepth)
	}
	entries, err := objects.Tree(hash)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := gitdir.JoinPath(dir, e.Name)
		if e.Mode == filemode.Dir {
			if err := s.addTree(objects, e.Hash, path, depth+1); err != nil {
				return err
			}
			continue
		}
		mode := e.Mode
		if mode == filemode.Deprecated {
			mode = filemode.Regular
		}
		s.byPath[path] = store.State{Mode: mode, Hash: e.Hash}
	}
	return nil
}
