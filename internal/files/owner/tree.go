package owner

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Same reports whether two files have the same owner. Symlinks are not followed.
func Same(one, other string) (bool, error) {
	a, err := attributes(one)
	if err != nil {
		return false, err
	}
	b, err := attributes(other)
	return err == nil && a.Uid == b.Uid, err
}

// As gives a file the owner and group of another one, if their owners differ.
func As(of, file string) error {
	a, err := attributes(of)
	if err != nil {
		return err
	}
	b, err := attributes(file)
	if err != nil || a.Uid == b.Uid {
		return err
	}
	return os.Lchown(file, int(a.Uid), int(a.Gid))
}

// AllAs gives all files of a directory the owner of another one, unless that is the user of this process: commands
// of root's jobs run as the owner of their workspace.
func AllAs(of, dir string) error {
	info, err := os.Stat(of)
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // on every Unix
	if int(st.Uid) == os.Geteuid() {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(st.Uid), int(st.Gid))
	})
}

func attributes(file string) (*syscall.Stat_t, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	return info.Sys().(*syscall.Stat_t), nil //nolint:forcetypeassert // on every Unix
}
