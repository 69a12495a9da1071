package objectdb

import (
	"bytes"
	"container/list"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/proc/clock"
)

// Objects reads the objects of a repository and of those that it borrows
// from. Instead of an object that refs/replace names it returns the replacement,
// under the name of the original.
type Objects struct {
	Dir string // the directory "objects"

	*objectStores
	replaced map[plumbing.Hash]plumbing.Hash
}

// objectStores are the object directories of a repository.
type objectStores struct {
	mu     *sync.Mutex // of all that share stores
	sleep  clock.Sleep
	stores []*objectStore
}

// cacheSize is the maximum size of the object cache of each open repository.
const cacheSize = 16 << 20

// Open opens the objects of a directory "objects". replaced has what is read instead of which object, and sleep waits for
// packs that git replaces.
func Open(dir string, replaced map[plumbing.Hash]plumbing.Hash, sleep clock.Sleep) (*Objects, error) {
	dirs, err := withAlternates([]string{dir}, 0)
	if err != nil {
		return nil, err
	}
	return &Objects{dir, openStores(dirs, &sync.Mutex{}, sleep), replaced}, nil
}

// With returns the objects together with those in another directory. Both use the same stores, so
// that no index of a pack is opened again.
func (s *Objects) With(dir string) *Objects {
	both := openStores([]string{dir}, s.mu, s.sleep)
	both.stores = append(both.stores, s.stores...)
	return &Objects{s.Dir, both, s.replaced}
}

// openStores opens the stores of directories. They have a cache of their own: what it has, is in
// one of them.
func openStores(dirs []string, mu *sync.Mutex, sleep clock.Sleep) *objectStores {
	s := &objectStores{mu: mu, sleep: sleep}
	shared := &decoder{entries: map[cacheKey]*list.Element{}}
	for _, d := range dirs {
		s.stores = append(s.stores, &objectStore{dir: d, decoder: shared})
	}
	s.listPacks()
	return s
}

// Dirs returns the directory and those that the repository borrows objects from.
func (s *Objects) Dirs() []string {
	var dirs []string
	for _, store := range s.stores {
		dirs = append(dirs, store.dir)
	}
	return dirs
}

// Originals reads the same objects without replacements. Transfers need them: a
// replacement has not the hash that the other end expects.
func (s *Objects) Originals() *Objects { return &Objects{s.Dir, s.objectStores, nil} }

// Replaces reports whether any object has a replacement.
func (s *Objects) Replaces() bool { return len(s.replaced) > 0 }

// replacement returns the object that git reads instead of one.
func (s *Objects) replacement(hash plumbing.Hash) plumbing.Hash {
	for range maxReplaced {
		to, ok := s.replaced[hash]
		if !ok {
			break
		}
		hash = to
	}
	return hash
}

// maxReplaced is the maximum chain of replacements, as in git.
const maxReplaced = 5

// withAlternates appends the directories that the directories from the given one on
// borrow objects from, and so on.
func withAlternates(dirs []string, from int) ([]string, error) {
	for ; from < len(dirs); from++ {
		data, err := sharedfile.Read(filepath.Join(dirs[from], "info", "alternates"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read alternates: %w", err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimRight(line, "\r\n")
			if line == "" || line[0] == '#' {
				continue
			}
			if !filepath.IsAbs(line) {
				line = filepath.Join(dirs[from], line)
			}
			if line = filepath.Clean(line); !slices.Contains(dirs, line) {
				dirs = append(dirs, line)
			}
		}
	}
	return dirs, nil
}

// Read returns an object.
func (s *Objects) Read(t plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	o, err := s.read(t, hash)
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (s *Objects) read(t plumbing.ObjectType, hash plumbing.Hash) (o *stored, err error) {
	var read func() (*stored, error)
	err = s.each(func(store *objectStore) (err error) {
		read, err = store.locate(s.replacement(hash))
		return err
	})
	if err == nil {
		o, err = read()
	}
	if err == nil && t != plumbing.AnyObject && t != o.kind {
		err = plumbing.ErrObjectNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", t, hash, err)
	}
	return o, nil
}

// each calls a function for one store after the other until it finds an object.
func (s *objectStores) each(find func(*objectStore) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look(func() error {
		for _, store := range s.stores {
			if err := find(store); !errors.Is(err, plumbing.ErrObjectNotFound) {
				return err
			}
		}
		return plumbing.ErrObjectNotFound
	})
}

// Size returns the size of an object in bytes.
func (s *Objects) Size(hash plumbing.Hash) (n int64, err error) {
	err = s.each(func(store *objectStore) (err error) {
		n, err = store.size(s.replacement(hash))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("size of object %s: %w", hash, err)
	}
	return n, nil
}

// Blob returns the content of a file.
func (s *Objects) Blob(hash plumbing.Hash) ([]byte, error) {
	o, err := s.read(plumbing.BlobObject, hash)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(o.data), nil // it is in the cache
}

// Tree returns the entries of one directory.
func (s *Objects) Tree(hash plumbing.Hash) ([]object.TreeEntry, error) {
	o, err := s.Read(plumbing.TreeObject, hash)
	if err != nil {
		return nil, err
	}
	t, err := object.DecodeTree(nil, o)
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", hash, err)
	}
	return t.Entries, nil
}

// RootTree returns the tree of a commit.
func (s *Objects) RootTree(commit plumbing.Hash) (plumbing.Hash, error) {
	o, err := s.Read(plumbing.CommitObject, commit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	c, err := object.DecodeCommit(nil, o)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("read commit %s: %w", commit, err)
	}
	return c.TreeHash, nil
}

// Commit reads a commit; nil if it is not here, as beyond the end of a shallow history.
func (s *Objects) Commit(hash plumbing.Hash) (*object.Commit, error) {
	o, err := s.Read(plumbing.CommitObject, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, nil // it is no failure
	}
	if err != nil {
		return nil, err
	}
	c, err := object.DecodeCommit(nil, o)
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", hash, err)
	}
	return c, nil
}

// maxTags is the maximum number of nested tags to follow.
const maxTags = 16

// Target follows tags to their target.
func (s *Objects) Target(hash plumbing.Hash) (end plumbing.Hash, kind plumbing.ObjectType, tags []plumbing.Hash, err error) {
	for range maxTags {
		o, err := s.Read(plumbing.AnyObject, hash)
		if err != nil {
			return hash, plumbing.InvalidObject, nil, err
		}
		if o.Type() != plumbing.TagObject {
			return hash, o.Type(), tags, nil
		}
		t, err := object.DecodeTag(nil, o)
		if err != nil {
			return hash, plumbing.InvalidObject, nil, err
		}
		tags = append(tags, hash)
		hash = t.Target
	}
	return hash, plumbing.InvalidObject, nil, fmt.Errorf("more than %d nested tags", maxTags)
}

// WithPrefix returns the objects whose hashes begin with some bytes.
func (s *Objects) WithPrefix(prefix []byte) ([]plumbing.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[plumbing.Hash]bool{}
	for _, store := range s.stores {
		if err := s.look(func() error { return store.withPrefix(prefix, seen) }); err != nil {
			return nil, fmt.Errorf("find objects: %w", err)
		}
	}
	return slices.Collect(maps.Keys(seen)), nil
}

// MaxDepth is the maximum depth of a tree.
const MaxDepth = 2048

// EmptyTree is the id of the empty tree, which git does not store.
var EmptyTree = plumbing.ComputeHash(plumbing.TreeObject, nil)
