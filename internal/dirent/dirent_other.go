//go:build unix && !(linux && (amd64 || arm64))

package dirent

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Append appends the entries of an open directory except "." and "..", in any order, to a list,
// which is returned with them. A name may be listed twice if it was replaced meanwhile. Entries
// before an error are appended.
func Append(list List, dir int) (List, error) {
	fd, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return list, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	entries, err := f.ReadDir(-1)
	for _, e := range entries {
		list = append(list, byte(kindOf(e.Type())))
		list = append(list, e.Name()...)
		list = append(list, 0)
	}
	return list, err
}

// Next returns the first entry of a list and the rest of it; false if the list is empty.
func (l List) Next() (e Entry, rest List, ok bool) {
	if len(l) == 0 {
		return e, nil, false
	}
	end := 1 + bytes.IndexByte(l[1:], 0)
	return Entry{Kind(l[0]), l[1 : end+1]}, l[end+1:], true
}

func kindOf(mode fs.FileMode) Kind {
	switch mode {
	case 0:
		return File
	case fs.ModeDir:
		return Dir
	case fs.ModeSymlink:
		return Symlink
	}
	return Other
}

// Lstat describes the entry of an open directory, without following symlinks.
func (e Entry) Lstat(dir int, st *unix.Stat_t) error {
	for {
		err := unix.Fstatat(dir, string(e.Name()), st, unix.AT_SYMLINK_NOFOLLOW)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
