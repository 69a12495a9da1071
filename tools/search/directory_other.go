//go:build !linux

package search

import (
	"io"
	"os"
)

// readEntries lists dir, which is root, in no order. With an error come those
// entries that were read before it.
func readEntries(_ *os.Root, dir *os.File) ([]entry, error) {
	found, err := dir.ReadDir(-1)
	list := make([]entry, 0, len(found))
	for _, e := range found {
		list = append(list, entry{e.Name(), e.IsDir(), e.Type().IsRegular()})
	}
	return list, err
}

// openAt opens a regular file in dir, which is root.
func openAt(root *os.Root, _ *os.File, name string) (io.ReadCloser, fileInfo, error) {
	return openInRoot(root, name)
}

// statAt describes a regular file in dir, which is root.
func statAt(root *os.Root, _ *os.File, name string) (fileInfo, error) {
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errSpecial
	}
	if err != nil {
		return fileInfo{}, err
	}
	return fileInfo{info.Size(), info.ModTime()}, nil
}
