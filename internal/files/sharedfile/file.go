package sharedfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNotFile is the error for a path that is not a regular file.
var errNotFile = errors.New("not a regular file")

// Open opens a regular file only: opening a pipe, which a hostile
// repository may contain, would block forever.
func Open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotFile}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read reads a regular file. The null device counts as an empty file,
// because configurations use it.
func Read(name string) ([]byte, error) {
	if name == os.DevNull {
		return nil, nil
	}
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// removeTries is how often RemoveAll removes a directory in which others create files.
const removeTries = 20

// RemoveAll removes a directory even if directories in it are write-protected or nested
// deeply, or if a process such as git gc creates a lock file in it meanwhile.
func RemoveAll(dir string) error {
	prune(dir)
	flat := flatten(dir)
	for n := 1; ; n++ {
		err := os.RemoveAll(dir)
		switch {
		case err == nil:
			return nil
		case n == removeTries || !errors.Is(err, syscall.ENOTEMPTY):
			return errors.Join(err, flat)
		}
	}
}

// maxNested is the length of relative paths in bytes above which RemoveAll moves
// directories up. os.RemoveAll holds a file descriptor for each level.
const maxNested = 1000

// flatten makes directories writable, and moves deeply nested ones to the top.
func flatten(dir string) error {
	moved := 0
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		top := queue[0]
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return IgnoreMissing(err)
			}
			if err := makeWritable(path, d); err != nil || len(path)-len(top) <= maxNested {
				return err
			}
			to := filepath.Join(dir, fmt.Sprintf(".millhand-removed-%d", moved))
			if err := os.Rename(path, to); err != nil {
				return err
			}
			moved++
			queue = append(queue, to)
			return fs.SkipDir
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// makeWritable adds the owner's permissions to a directory.
func makeWritable(path string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil || info.Mode()&0o700 == 0o700 {
		return IgnoreMissing(err)
	}
	return IgnoreMissing(os.Chmod(path, 0o700))
}

// IgnoreMissing returns nil for an error about a missing file, and other errors
// unchanged.
func IgnoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Absent reports whether an error means that a path does not exist, also
// because a parent is a file.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// ReadOptional reads a file; nil if it does not exist.
func ReadOptional(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	data, err := Read(name)
	if err != nil && !Absent(err) {
		return nil, err
	}
	return data, nil
}

// SyncDir syncs a directory, where supported.
func SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) {
		return err
	}
	return nil
}

// OpenFlags prevent an open from blocking if the file was replaced by a pipe.
const OpenFlags = syscall.O_RDONLY | syscall.O_NONBLOCK

// OpenDirectory opens a directory. os.Open would try to poll it, which needs five more system calls.
func OpenDirectory(name string) (*os.File, error) {
	for {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case !errors.Is(err, unix.EINTR):
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}
