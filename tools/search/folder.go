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

	"github.com/millhand/millhand/internal/ignore"
)

// maxRules is the length in bytes up to which a .gitignore is read. It is far
// above any real one, and keeps a file of that name from being the whole work.
const maxRules = 1 << 20

// folder is an open folder. Its files are opened by name alone, which costs
// one system call whatever the depth.
type folder struct {
	root  *os.Root
	path  string // relative to Scope.Root, with a slash at its end; "" is the root
	rules *ignore.Matcher
	users atomic.Int32 // who still needs root open; the last one closes it
}

// newFolder returns a folder with one user.
func newFolder(root *os.Root, path string, rules *ignore.Matcher) *folder {
	f := &folder{root: root, path: path, rules: rules}
	f.users.Store(1)
	return f
}

// child opens a folder in f. The "." keeps a pipe that has come into the
// folder's place since it was listed from blocking the open.
func (f *folder) child(name string) (*folder, error) {
	root, err := f.root.OpenRoot(name + "/.")
	if err != nil {
		return nil, err
	}
	return newFolder(root, f.path+name+"/", f.rules), nil
}

func (f *folder) release() {
	if f.users.Add(-1) == 0 {
		f.root.Close()
	}
}

// entries lists the folder in no order. With an error come those entries that
// were read before it.
func (f *folder) entries() ([]fs.DirEntry, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.ReadDir(-1)
}

// open opens a file in f. It does not wait for the other end of a pipe.
func (f *folder) open(name string) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errSpecial
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// readRules adds the folder's .gitignore, if it has one, to its rules. As by
// git, a link of that name does not count.
func (f *folder) readRules() error {
	const name = ".gitignore"
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s%s: %w", f.path, name, cause(err))
	}
	file, _, err := f.open(name)
	if err != nil {
		return fmt.Errorf("read %s%s: %w", f.path, name, cause(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxRules+1))
	if err != nil {
		return fmt.Errorf("read %s%s: %w", f.path, name, cause(err))
	}
	if len(data) > maxRules { // not the part of a line
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		err = fmt.Errorf("read %s%s: only the first %d bytes count", f.path, name, len(data))
	}
	f.rules = f.rules.Descend(strings.TrimSuffix(f.path, "/"), data)
	return err
}
