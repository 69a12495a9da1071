package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/proc/parallel"
)

// maxTries is how often a directory removed by git gc is created again.
const maxTries = 20

// Writer writes objects into one pack, or loose ones. They are durable after Finish.
type Writer struct {
	dir  string      // the directory "objects"
	pack *packWriter // nil for loose objects only

	// cache is set for objects that need not be durable: they are not synced, and those
	// that exist are not written again.
	cache bool

	mu   sync.Mutex
	dirs map[string]bool // directories with new entries
}

// largestPacked is the maximum size of a packed object in bytes, which is held in memory; larger
// ones are loose.
const largestPacked = 1 << 20

// New returns a writer of a pack, to be closed. Loose objects that no reference leads to yet are
// removed by git gc --prune=now, a pack with a .keep file is not.
func New(store *objectdb.Objects, shared *Packing) (w *Writer, err error) {
	w = &Writer{dir: store.Dir, dirs: map[string]bool{}}
	w.pack, err = newPackWriter(store.Dir, shared)
	return w, err
}

// NewCache returns a writer of loose objects that need not be durable to a directory.
func NewCache(dir string) *Writer {
	return &Writer{dir: dir, dirs: map[string]bool{}, cache: true}
}

// DespitePruning repeats what creates objects if git has removed a temporary file: git gc
// --prune=now removes all of them, whoever is writing one.
func DespitePruning(create func() error) error {
	for n := 1; ; n++ {
		err := create()
		if n == maxTries || !errors.Is(err, fs.ErrNotExist) || !isTemporary(err) {
			return err
		}
	}
}

// isTemporary reports whether an error is about a temporary file of git's form.
func isTemporary(err error) bool {
	var path *fs.PathError
	var rename *os.LinkError
	switch {
	case errors.As(err, &rename):
		return strings.Contains(rename.Old, "/tmp_")
	case errors.As(err, &path):
		return strings.Contains(path.Path, "/tmp_")
	}
	return false
}

// Close releases the objects: git may remove them if no reference leads to them. A nil writer has
// none.
func (w *Writer) Close() {
	if w != nil && w.pack != nil {
		w.pack.close()
	}
}

// Write writes an object of a known size.
func (w *Writer) Write(t plumbing.ObjectType, size int64, content io.Reader) (plumbing.Hash, error) {
	add := w.writeTemp
	if w.pack != nil && size <= largestPacked {
		add = w.pack.add
	}
	hash, err := add(t, size, content)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("write %s: %w", t, err)
	}
	return hash, nil
}

// WriteBytes writes an object. A cache that has it already does not write it again.
func (w *Writer) WriteBytes(t plumbing.ObjectType, data []byte) (plumbing.Hash, error) {
	if hash := plumbing.ComputeHash(t, data); w.cache && w.Stored(hash) {
		return hash, nil
	}
	return w.Write(t, int64(len(data)), bytes.NewReader(data))
}

func (w *Writer) writeTemp(t plumbing.ObjectType, size int64, content io.Reader) (plumbing.Hash, error) {
	f, err := objectdb.CreateTemp(w.dir, objectdb.TempObject)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	hash, err := fillObject(f, t, size, content, !w.cache)
	if err == nil {
		err = w.path(f.Name(), hash)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return plumbing.ZeroHash, errors.Join(err, os.Remove(f.Name()))
	}
	return hash, nil
}

// fillObject writes an object file, and syncs it if sync is set.
func fillObject(f *os.File, t plumbing.ObjectType, size int64, content io.Reader, sync bool) (hash plumbing.Hash, err error) {
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
	if sync {
		err = f.Sync()
	}
	return w.Hash(), err
}

// path renames a finished object file to its name. It replaces an existing
// file, because git gc removes old objects that are not referenced yet.
func (w *Writer) path(temp string, hash plumbing.Hash) error {
	id := hash.String()
	dir := filepath.Join(w.dir, id[:2])
	for n := 1; ; n++ {
		if err := owner.Mkdir(dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		err := os.Rename(temp, filepath.Join(dir, id[2:]))
		if err == nil {
			break
		}
		if n == maxTries || !errors.Is(err, os.ErrNotExist) { // git gc removes empty directories
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirs[dir] = true
	return nil
}

// Finish completes the pack and syncs the directories of all loose objects.
func (w *Writer) Finish(ctx context.Context) error {
	if w.pack != nil {
		if err := w.pack.finish(ctx); err != nil {
			return fmt.Errorf("write pack: %w", err)
		}
	}
	dirs := []string{w.dir}
	for d := range w.dirs {
		dirs = append(dirs, d)
	}
	return parallel.Each(ctx, dirs, func(d string) error { return sharedfile.IgnoreMissing(sharedfile.SyncDir(d)) }) // git gc has packed what it held
}

// Stored reports whether the directory has a loose object.
func (w *Writer) Stored(hash plumbing.Hash) bool {
	id := hash.String()
	_, err := os.Lstat(filepath.Join(w.dir, id[:2], id[2:]))
	return err == nil
}
