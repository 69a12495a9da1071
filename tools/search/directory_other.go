//go:build !linux

package search

import (
	"io"
	"io/fs"
	"os"
	"syscall"
)

// handle is an open directory.
type handle struct{ root *os.Root }

// openHandle opens the directory of a root.
func openHandle(root *os.Root) (handle, error) {
	own, err := root.OpenRoot(".")
	return handle{own}, err
}

// directory opens a directory in h. The "." prevents the open from blocking if the
// directory was replaced by a pipe after it was listed.
func (h handle) directory(name string) (handle, error) {
	root, err := h.root.OpenRoot(name + "/.")
	return handle{root}, err
}

func (h handle) close() {
	h.root.Close() //nolint:errcheck // it was only read
}

// entries lists the directory, unordered. If it returns an error, it also returns the
// entries read before.
func (h handle) entries() ([]entry, error) {
	dir, err := h.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	found, err := dir.ReadDir(-1)
	list := make([]entry, 0, len(found))
	for _, e := range found {
		list = append(list, entry{e.Name(), e.IsDir(), e.Type().IsRegular()})
	}
	return list, err
}

// open opens a regular file in h. It does not block on a pipe.
func (h handle) open(name string) (io.ReadCloser, fileInfo, error) {
	file, err := h.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
	return file, described(info), nil
}

// lstat describes what a name in h is.
func (h handle) lstat(name string) (fileInfo, error) {
	info, err := h.root.Lstat(name)
	if err != nil {
		return fileInfo{}, err
	}
	return described(info), nil
}

func described(info fs.FileInfo) fileInfo {
	return fileInfo{size: info.Size(), mod: info.ModTime(), kind: info.Mode().Type()}
}

// stat, fileSystem and fileClock are for caches, which are used on Linux only.
func (h handle) stat() (fileInfo, error) { return fileInfo{}, nil }
func (h handle) fileSystem() trust       { return never }
func fileClock() int64                   { return 0 }
