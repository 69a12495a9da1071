package objectdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/files/sharedfile"
)

// git gc and git repack move objects to new packs and remove the old ones while
// this process works: the user runs them, or a commit or fetch of the user does.
// The packs are listed once, so the list is read again on a miss, as git does.

// maxLookups bounds how often an object is looked for while packs come and go. The waits
// between the lookups are 0.2 s in all, without a context: reading an object has none.
const maxLookups = 20

// look calls a function that reads objects, and again as long as what it misses
// may be in packs that have been made meanwhile. The caller holds s.mu.
//
//nolint:contextcheck,nolintlint // see maxLookups; the linter sees callers only
func (s *objectStores) look(read func() error) error {
	for n := 1; ; n++ {
		err := read()
		if err == nil || !missing(err) {
			return err
		}
		if changed := s.listPacks(); !changed && errors.Is(err, plumbing.ErrObjectNotFound) {
			return err
		}
		if n == maxLookups {
			return err
		}
		if n > 1 {
			s.mu.Unlock()                                                            // of all jobs of a run
			_ = s.sleep.For(context.Background(), time.Duration(n)*time.Millisecond) // between two renames of git's
			s.mu.Lock()
		}
	}
}

// missing reports whether an error means that an object, or the pack that had it,
// does not exist.
func missing(err error) bool {
	return errors.Is(err, plumbing.ErrObjectNotFound) || errors.Is(err, fs.ErrNotExist)
}

// listPacks lists the packs of all stores, and reports whether they are others
// than before.
func (s *objectStores) listPacks() (changed bool) {
	for _, store := range s.stores {
		changed = store.listPacks() || changed
	}
	return changed
}

// objectStore is a directory of objects.
type objectStore struct {
	dir     string
	decoder *decoder
	packs   []*pack  // the most recently used first
	names   []string // of the packs when they were listed last, sorted
	opened  bool     // whether the index of each was opened
	err     error    // of listing them
}

// maxOpenPacks is the maximum number of packs of a directory that stay open.
const maxOpenPacks = 16

// listPacks lists the packs that have an index: others are being written, or were left behind.
func (s *objectStore) listPacks() (changed bool) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "pack"))
	if s.err = sharedfile.IgnoreMissing(err); s.err != nil {
		return false
	}
	var names []string
	indexed := map[string]bool{}
	for _, e := range entries {
		name, end := e.Name(), filepath.Ext(e.Name())
		base := strings.TrimSuffix(name, end)
		switch {
		case !strings.HasPrefix(name, "pack-"):
		case end == ".idx": // sorted before .pack
			indexed[base] = true
		case end == ".pack" && indexed[base]:
			names = append(names, filepath.Join(s.dir, "pack", base))
		}
	}
	slices.Sort(names) // the directory is sorted by names with extensions
	if slices.Equal(names, s.names) {
		return false
	}
	var packs []*pack
	for _, name := range names {
		if _, known := slices.BinarySearch(s.names, name); !known {
			packs = append(packs, &pack{name: name})
		}
	}
	for _, p := range s.packs {
		if _, remains := slices.BinarySearch(names, p.name); remains {
			packs = append(packs, p)
		} else {
			p.close()
		}
	}
	s.packs, s.names, s.opened = packs, names, false
	return true
}

// openIndexes opens the index of each pack: a damaged one is an error for all objects, however
// many packs have them.
func (s *objectStore) openIndexes() error {
	if s.err != nil {
		s.listPacks()
	}
	if s.opened || s.err != nil {
		return s.err
	}
	for i, p := range s.packs {
		if p.fanout != nil {
			continue
		}
		if err := p.openIndex(); err != nil {
			return err
		}
		if i >= maxOpenPacks {
			p.close()
		}
	}
	s.opened = true
	return nil
}

// find returns the pack of an object and its offset. The caller holds the lock of the stores, as
// for all that uses packs.
func (s *objectStore) find(hash plumbing.Hash) (*pack, int64, error) {
	if err := s.openIndexes(); err != nil {
		return nil, 0, err
	}
	for i, p := range s.packs {
		at, err := p.find(hash)
		if i >= maxOpenPacks {
			p.close()
		}
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue
		}
		if copy(s.packs[1:i+1], s.packs[:i]) >= maxOpenPacks {
			s.packs[maxOpenPacks].close()
		}
		s.packs[0] = p
		return p, at, err
	}
	return nil, 0, plumbing.ErrObjectNotFound
}

// locate finds an object. The returned function reads it, and must be called.
func (s *objectStore) locate(hash plumbing.Hash) (read func() (*stored, error), err error) {
	p, at, err := s.find(hash)
	if err == nil {
		return p.locate(hash, at, s.decoder)
	}
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, err
	}
	if o := s.decoder.cached(cacheKey{hash: hash}); o != nil {
		return func() (*stored, error) { return o, nil }, nil
	}
	f, err := s.loose(hash)
	return func() (*stored, error) { return s.decoder.loose(f, hash) }, err
}

// size returns the size of an object.
func (s *objectStore) size(hash plumbing.Hash) (int64, error) {
	p, at, err := s.find(hash)
	if err == nil {
		return p.size(at, s.decoder)
	}
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		return 0, err
	}
	f, err := s.loose(hash)
	if err != nil {
		return 0, err
	}
	return s.decoder.looseSize(f)
}

// loose opens the file of an object.
func (s *objectStore) loose(hash plumbing.Hash) (*os.File, error) {
	name := hash.String()
	f, err := sharedfile.Open(filepath.Join(s.dir, name[:2], name[2:]))
	if errors.Is(err, fs.ErrNotExist) {
		err = plumbing.ErrObjectNotFound
	}
	return f, err
}

// withPrefix adds the objects whose hashes start with some bytes, at least one, to a set.
func (s *objectStore) withPrefix(prefix []byte, set map[plumbing.Hash]bool) error {
	first := fmt.Sprintf("%x", prefix[:1])
	entries, err := os.ReadDir(filepath.Join(s.dir, first))
	if err = sharedfile.IgnoreMissing(err); err != nil {
		return err
	}
	for _, e := range entries {
		name := first + e.Name()
		if hash := plumbing.NewHash(name); plumbing.IsHash(name) && bytes.HasPrefix(hash[:], prefix) {
			set[hash] = true
		}
	}
	if err := s.openIndexes(); err != nil {
		return err
	}
	for i, p := range s.packs {
		if err := p.withPrefix(prefix, set); err != nil {
			return err
		}
		if i >= maxOpenPacks {
			p.close()
		}
	}
	return nil
}

// InstallPack syncs a pack and its index and renames them to their names in a directory; the
// index last, because a pack without one is ignored.
func InstallPack(dir string, pack *os.File, idx *idxfile.MemoryIndex, name string) error {
	f, err := CreateTemp(dir, TempIndex)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	owner.Inherit(pack)
	if _, err := idxfile.NewEncoder(f).Encode(idx); err != nil {
		return err
	}
	for _, one := range []struct {
		file *os.File
		end  string
	}{{pack, ".pack"}, {f, ".idx"}} {
		if err := errors.Join(one.file.Chmod(0o444), one.file.Sync()); err != nil {
			return err
		}
		if err := os.Rename(one.file.Name(), filepath.Join(dir, name+one.end)); err != nil {
			return err
		}
	}
	return sharedfile.SyncDir(dir)
}
