package tasks

import (
	"errors"
	"os"
	"path/filepath"
)

// realPath resolves the symlinks of a path, of which the end need not exist.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	parent := filepath.Dir(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) || parent == path {
		return real, err
	}
	if _, dangling := os.Lstat(path); dangling == nil {
		return "", err // what it leads to may appear later
	}
	real, err = realPath(parent)
	return filepath.Join(real, filepath.Base(path)), err
}
