// Package owner gives new files the owner of their directory, if this process is root and the directory belongs to
// another user: as in a container whose checkout is that of the machine's user, who could not change or remove
// them otherwise. In other processes it changes nothing.
package owner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Inherit gives a file or directory that this process has created, and opened, the owner of the directory that it is
// in. That is best effort: some file systems, and root without its capabilities, do not permit it.
func Inherit(f *os.File) {
	if os.Geteuid() != 0 {
		return
	}
	if info, err := os.Stat(filepath.Dir(f.Name())); err == nil {
		Like(f, info)
	}
}

// Like gives an open file the owner of another, which may be that of its directory.
func Like(f *os.File, other fs.FileInfo) {
	st, ok := other.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 || st.Uid == 0 {
		return
	}
	f.Chown(int(st.Uid), int(st.Gid)) //nolint:errcheck // see Inherit
}

// Mkdir creates a directory that inherits its owner.
func Mkdir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil {
		return err
	}
	inherit(dir)
	return nil
}

// MkdirAll creates a directory and the missing ones above it, which inherit their owners.
func MkdirAll(dir string, mode fs.FileMode) error {
	if os.Geteuid() != 0 {
		return os.MkdirAll(dir, mode)
	}
	dir = filepath.Clean(dir)
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	err := os.MkdirAll(dir, mode)
	for _, at := range slices.Backward(missing) {
		inherit(at)
	}
	return err
}

// inherit is [Inherit] for a directory that was just created. The directory above is that of the open one,
// whatever its path leads to now.
func inherit(dir string) {
	if os.Geteuid() != 0 {
		return
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd) //nolint:errcheck // it was only read
	var above unix.Stat_t
	if err := unix.Fstatat(fd, "..", &above, 0); err == nil && above.Uid != 0 {
		unix.Fchown(fd, int(above.Uid), int(above.Gid)) //nolint:errcheck // see Inherit
	}
}

// WriteFile is os.WriteFile for a file that inherits its owner.
func WriteFile(name string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	Inherit(f)
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// MkdirAllIn creates a directory in an open one, and the missing ones above it, which inherit their owners.
func MkdirAllIn(root *os.Root, dir string, mode fs.FileMode) error {
	if os.Geteuid() != 0 {
		return root.MkdirAll(dir, mode)
	}
	var missing []string
	for at := filepath.Clean(dir); at != "."; at = filepath.Dir(at) {
		if _, err := root.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	err := root.MkdirAll(dir, mode)
	for _, at := range slices.Backward(missing) {
		InheritIn(root, at)
	}
	return err
}

// InheritIn is [Inherit] for a directory in an open one.
func InheritIn(root *os.Root, dir string) {
	above, err := root.Stat(filepath.Dir(dir))
	if err != nil {
		return
	}
	f, err := root.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer f.Close()
	Like(f, above)
}
