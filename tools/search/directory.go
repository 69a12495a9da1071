package search

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/millhand/millhand/internal/gitops/ignore"
)

// maxRules is the number of bytes of a .gitignore that are read. Real files are far
// smaller; the limit bounds the work for a malicious one.
const maxRules = 1 << 20

// directory is an open directory. Its files are opened by name, with
// one system call at any depth.
type directory struct {
	handle
	path  string // relative to Scope.Root, with a slash at its end; "" is the root
	rules *ignore.Matcher
	// ignored reports that it or a directory above it is ignored: only tracked files in it are not.
	ignored bool
	dev     uint64       // known if trust is not never
	trust   trust        // in the versions of the directory and its files
	users   atomic.Int32 // the last one closes the handle
}

// entry is one entry of a directory listing.
type entry struct {
	name         string
	dir, regular bool
}

// fileInfo describes a file.
type fileInfo struct {
	size    int64
	mod     time.Time
	kind    fs.FileMode // type bits only
	version version     // zero if unknown
}

// newDirectory returns a directory with one user.
func newDirectory(h handle, path string, rules *ignore.Matcher) *directory {
	f := &directory{handle: h, path: path, rules: rules}
	f.users.Store(1)
	return f
}

// child opens a directory in f.
func (f *directory) child(name string) (*directory, error) {
	h, err := f.directory(name)
	if err != nil {
		return nil, err
	}
	below := newDirectory(h, f.path+name+"/", f.rules)
	below.dev, below.trust, below.ignored = f.dev, f.trust, f.ignored
	return below, nil
}

// name returns the name of a file in f.
func (f *directory) name(path string) string { return path[len(f.path):] }

func (f *directory) release() {
	if f.users.Add(-1) == 0 {
		f.close()
	}
}

// list returns the entries as of the directory's version, remembered ones if possible.
func (f *directory) list(m *memory) ([]entry, error) {
	if m.cache == nil {
		return f.entries()
	}
	info, err := f.stat()
	if err != nil {
		return f.entries()
	}
	if info.version.dev != f.dev {
		f.dev, f.trust = info.version.dev, f.fileSystem()
	}
	key := m.key(f, info.version, true)
	if known := m.get(key); known != nil {
		return known.entries, nil
	}
	entries, err := f.entries()
	if err == nil && m.accepts(key, info.version) {
		m.put(key, &fact{entries: slices.Clone(entries)}) // without unused capacity
	}
	return entries, err
}

// readRules adds the directory's .gitignore, if it exists, to its rules. As in
// git, symlinks of that name are ignored.
func (f *directory) readRules() error {
	data, err := f.readIgnoreFile()
	if err != nil {
		err = fmt.Errorf("read %s.gitignore: %w", f.path, cause(err))
	}
	f.rules = f.rules.Descend(strings.TrimSuffix(f.path, "/"), data)
	return err
}

func (f *directory) readIgnoreFile() ([]byte, error) {
	const name = ".gitignore"
	info, err := f.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.kind.IsRegular():
		return nil, errSpecial
	}
	file, _, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxRules+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRules { // remove the incomplete line
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		err = fmt.Errorf("only the first %d bytes are used", len(data))
	}
	return data, err
}
