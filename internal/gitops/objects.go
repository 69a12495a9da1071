package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// objectStore reads the objects of a repository and of those that it borrows
// from, and writes loose ones.
type objectStore struct {
	dir string // the directory "objects"

	mu     sync.Mutex // go-git's storage is for one goroutine at a time
	stores []*filesystem.ObjectStorage
}

// cacheSize bounds the memory that each opened repository keeps for objects.
const cacheSize = 16 * cache.MiByte

func openObjects(commonDir string) (*objectStore, error) {
	dir := filepath.Join(commonDir, "objects")
	dirs, err := withAlternates([]string{dir}, 0)
	if err != nil {
		return nil, err
	}
	s := &objectStore{dir: dir}
	shared := cache.NewObjectLRU(cacheSize)
	for _, d := range dirs {
		if filepath.Base(d) != "objects" {
			return nil, &UnsupportedError{Reason: "objects are borrowed from " + d + ", which is not a directory named objects"}
		}
		git := dotgit.New(osfs.New(filepath.Dir(d)))
		s.stores = append(s.stores, filesystem.NewObjectStorageWithOptions(git, shared, filesystem.Options{}))
	}
	return s, nil
}

// withAlternates appends the directories that the directories from the given one on
// borrow objects from, and so on.
func withAlternates(dirs []string, from int) ([]string, error) {
	for ; from < len(dirs); from++ {
		data, err := readFile(filepath.Join(dirs[from], "info", "alternates"))
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

// read returns an object. If it is nowhere, packs that have been made meanwhile are looked for.
func (s *objectStore) read(t plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.find(t, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		for _, store := range s.stores {
			store.Reindex()
		}
		o, err = s.find(t, hash)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", t, hash, err)
	}
	return o, nil
}

func (s *objectStore) find(t plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	for _, store := range s.stores {
		o, err := store.EncodedObject(t, hash)
		if !errors.Is(err, plumbing.ErrObjectNotFound) {
			return o, err
		}
	}
	return nil, plumbing.ErrObjectNotFound
}

// size returns how many bytes an object has.
func (s *objectStore) size(hash plumbing.Hash) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, store := range s.stores {
		n, err := store.EncodedObjectSize(hash)
		if !errors.Is(err, plumbing.ErrObjectNotFound) {
			return n, err
		}
	}
	return 0, fmt.Errorf("size of object %s: %w", hash, plumbing.ErrObjectNotFound)
}

// blob returns the content of a file.
func (s *objectStore) blob(hash plumbing.Hash) ([]byte, error) {
	o, err := s.read(plumbing.BlobObject, hash)
	if err != nil {
		return nil, err
	}
	rd, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	data := make([]byte, o.Size())
	if _, err := io.ReadFull(rd, data); err != nil {
		return nil, fmt.Errorf("read blob %s: %w", hash, err)
	}
	return data, nil
}

// tree returns the entries of one directory.
func (s *objectStore) tree(hash plumbing.Hash) ([]object.TreeEntry, error) {
	o, err := s.read(plumbing.TreeObject, hash)
	if err != nil {
		return nil, err
	}
	t, err := object.DecodeTree(nil, o)
	if err != nil {
		return nil, fmt.Errorf("read tree %s: %w", hash, err)
	}
	return t.Entries, nil
}

// rootTree returns the tree of a commit.
func (s *objectStore) rootTree(commit plumbing.Hash) (plumbing.Hash, error) {
	o, err := s.read(plumbing.CommitObject, commit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	c, err := object.DecodeCommit(nil, o)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("read commit %s: %w", commit, err)
	}
	return c.TreeHash, nil
}

// objectWriter adds loose objects. They are durable once finish has returned.
type objectWriter struct {
	store *objectStore

	mu   sync.Mutex
	dirs map[string]bool // directories with new names in them
}

func (s *objectStore) writer() *objectWriter {
	return &objectWriter{store: s, dirs: map[string]bool{}}
}

// write adds an object of a known size, unless a loose one is there.
func (w *objectWriter) write(t plumbing.ObjectType, size int64, content io.Reader) (plumbing.Hash, error) {
	hash, err := w.writeTemp(t, size, content)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("write %s: %w", t, err)
	}
	return hash, nil
}

func (w *objectWriter) writeBytes(t plumbing.ObjectType, data []byte) (plumbing.Hash, error) {
	return w.write(t, int64(len(data)), bytes.NewReader(data))
}

func (w *objectWriter) writeTemp(t plumbing.ObjectType, size int64, content io.Reader) (plumbing.Hash, error) {
	f, err := os.CreateTemp(w.store.dir, "tmp_obj_")
	if err != nil {
		return plumbing.ZeroHash, err
	}
	hash, err := fillObject(f, t, size, content)
	if err == nil {
		err = w.place(f.Name(), hash)
	}
	if err != nil {
		return plumbing.ZeroHash, errors.Join(err, os.Remove(f.Name()))
	}
	return hash, nil
}

// fillObject writes an object file, makes it durable and closes it.
func fillObject(f *os.File, t plumbing.ObjectType, size int64, content io.Reader) (hash plumbing.Hash, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	w := objfile.NewWriter(f)
	if err := w.WriteHeader(t, size); err != nil {
		return hash, err
	}
	n, err := io.Copy(w, content)
	if err == nil && n != size {
		err = fmt.Errorf("%d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return hash, err
	}
	if err := f.Chmod(0o444); err != nil {
		return hash, err
	}
	return w.Hash(), f.Sync()
}

// place gives a finished object file its name. An object that is there stays.
func (w *objectWriter) place(temp string, hash plumbing.Hash) error {
	id := hash.String()
	dir := filepath.Join(w.store.dir, id[:2])
	name := filepath.Join(dir, id[2:])
	if _, err := os.Lstat(name); err == nil {
		return os.Remove(temp)
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirs[dir] = true
	return nil
}

// finish makes the names of all written objects durable.
func (w *objectWriter) finish(ctx context.Context) error {
	dirs := []string{w.store.dir}
	for d := range w.dirs {
		dirs = append(dirs, d)
	}
	return inParallel(ctx, dirs, func(d string) error { return syncDir(d) })
}

// withPrefix returns the objects whose hashes begin with some bytes.
func (s *objectStore) withPrefix(prefix []byte) ([]plumbing.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[plumbing.Hash]bool{}
	for _, store := range s.stores {
		some, err := store.HashesWithPrefix(prefix)
		if err != nil {
			return nil, fmt.Errorf("look for objects: %w", err)
		}
		for _, h := range some {
			seen[h] = true
		}
	}
	return slices.Collect(maps.Keys(seen)), nil
}
