package gitdir

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// git gc and git repack move objects to new packs and remove the old ones while
// this process works: the user runs them, or a commit or fetch of the user does.
// go-git lists the packs once, so the list is read again on a miss, as git does.

// maxLookups bounds how often an object is looked for while packs come and go. The waits
// between the lookups are 0.2 s in all, without a context: reading an object has none.
const maxLookups = 20

// look calls a function that reads objects, and again as long as what it misses
// may be in packs that have been made meanwhile. The caller holds s.mu.
func (s *objectStores) look(read func() error) error {
	for n := 1; ; n++ {
		err := read()
		if err == nil || !missing(err) {
			return err
		}
		if changed := s.listPacks(); !changed && errors.Is(err, plumbing.ErrObjectNotFound) {
			return err
		}
		for _, store := range s.stores {
			store.Reindex()
		}
		if n == maxLookups {
			return err
		}
		if n > 1 {
			time.Sleep(time.Duration(n) * time.Millisecond) // between two renames of git's
		}
	}
}

// missing reports whether an error means that an object, or the pack that had it,
// does not exist.
func missing(err error) bool {
	for _, e := range []error{plumbing.ErrObjectNotFound, dotgit.ErrPackfileNotFound, dotgit.ErrIdxNotFound, fs.ErrNotExist} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// listPacks lists the packs of all stores, and reports whether they are others
// than before.
func (s *objectStores) listPacks() (changed bool) {
	var now []string
	for _, dir := range s.dirs {
		entries, err := os.ReadDir(filepath.Join(dir, "pack"))
		if err != nil {
			continue // no packs, or reading them fails and says why
		}
		for _, e := range withIndex(entries) {
			if strings.HasSuffix(e.Name(), ".pack") {
				now = append(now, filepath.Join(dir, e.Name()))
			}
		}
	}
	changed = !slices.Equal(now, s.packs)
	s.packs = now
	return changed
}

// indexedPacks is a git directory, to be read, whose packs without an index are not listed:
// they are being written, or were left behind, and go-git would fail for them.
type indexedPacks struct{ billy.Filesystem }

// Open opens a regular file. The embedded file system would look at each directory of its path
// first and wait for the writer of a pipe, and go-git reads the index of a pack in hundreds of pieces.
func (f indexedPacks) Open(name string) (billy.File, error) {
	file, err := openFile(f.Join(f.Root(), name))
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".idx") {
		return packIndex{opened{file, name}, bufio.NewReaderSize(file, 1<<16)}, nil
	}
	return opened{file, name}, nil
}

// opened is a file with its name in the git directory, which nobody locks.
type opened struct {
	*os.File
	name string
}

func (f opened) Name() string { return f.name }
func (opened) Lock() error    { return nil }
func (opened) Unlock() error  { return nil }

// packIndex is a file that is read from its start to its end.
type packIndex struct {
	billy.File
	rd *bufio.Reader
}

func (f packIndex) Read(p []byte) (int, error) { return f.rd.Read(p) }

// Stat has the size, which go-git compares with what the index claims to hold.
func (f packIndex) Stat() (fs.FileInfo, error) { return f.File.(opened).Stat() }

// ReadDir also omits files that are removed meanwhile: the embedded file system fails for
// them with the error of a missing directory, which for go-git has no packs.
func (f indexedPacks) ReadDir(path string) ([]os.FileInfo, error) {
	entries, err := os.ReadDir(f.Join(f.Root(), path))
	var infos []os.FileInfo
	for _, e := range withIndex(entries) {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, err
}

// withIndex leaves out the packs whose index is not in the same directory.
func withIndex(entries []fs.DirEntry) []fs.DirEntry {
	indexed := map[string]bool{}
	for _, e := range entries {
		if base, ok := strings.CutSuffix(e.Name(), ".idx"); ok {
			indexed[base] = true
		}
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		base, ok := strings.CutSuffix(e.Name(), ".pack")
		return ok && !indexed[base]
	})
}

// InstallPack syncs a pack and its index and renames them to their names in a directory; the
// index last, because a pack without one is ignored.
func InstallPack(dir string, pack *os.File, idx *idxfile.MemoryIndex, name string) error {
	f, err := os.CreateTemp(dir, "tmp_idx_")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
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
	return SyncDir(dir)
}
