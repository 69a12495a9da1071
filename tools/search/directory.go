package search

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/ignore"
)

// maxRules is the number of bytes of a .gitignore that are read. Real files are far
// smaller; the limit bounds the work for a malicious one.
const maxRules = 1 << 20

// directory is an open directory. Its files are opened by name, with
// one system call at any depth.
type directory struct {
	root  *os.Root
	path  string // relative to Scope.Root, with a slash at its end; "" is the root
	rules *ignore.Matcher
	dir   *os.File     // the directory itself, once it was listed: files are opened relative to it
	users atomic.Int32 // number of users of root and dir; the last one closes them
}

// entry is one entry of a directory listing.
type entry struct {
	name         string
	dir, regular bool
}

// fileInfo describes an open file.
type fileInfo struct {
	size int64
	mod  time.Time
}

// newDirectory returns a directory with one user.
func newDirectory(root *os.Root, path string, rules *ignore.Matcher) *directory {
	f := &directory{root: root, path: path, rules: rules}
	f.users.Store(1)
	return f
}

// child opens a directory in f. The "." prevents the open from blocking if the directory
// was replaced by a pipe after it was listed.
func (f *directory) child(name string) (*directory, error) {
	root, err := f.root.OpenRoot(name + "/.")
	if err != nil {
		return nil, err
	}
	return newDirectory(root, f.path+name+"/", f.rules), nil
}

func (f *directory) release() {
	if f.users.Add(-1) > 0 {
		return
	}
	if f.dir != nil {
		f.dir.Close()
	}
	f.root.Close()
}

// entries lists the directory, unordered. If it returns an error, it also returns the
// entries read before.
func (f *directory) entries() (list []entry, err error) {
	if f.dir, err = f.root.Open("."); err != nil {
		f.dir = nil
		return nil, err
	}
	return readEntries(f.root, f.dir)
}

// open opens a regular file in f. It does not block on a pipe.
func (f *directory) open(name string) (io.ReadCloser, fileInfo, error) {
	if f.dir != nil {
		return openAt(f.root, f.dir, name)
	}
	return openInRoot(f.root, name)
}

// openInRoot opens a regular file below a root.
func openInRoot(root *os.Root, name string) (io.ReadCloser, fileInfo, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileInfo{}, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errSpecial
	}
	if err != nil {
		file.Close()
		return nil, fileInfo{}, err
	}
	return file, fileInfo{info.Size(), info.ModTime()}, nil
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
	info, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
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
