//go:build unix && !(linux && (amd64 || arm64))

package dirent

import (
	"bytes"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Append appends the entries of an open directory except "." and "..", in any order, to a list,
// which is returned with them. A name may be listed twice if it was replaced meanwhile. Entries
// before an error are appended. All are Unknown: Go 1.26.0 searches for those of unknown kind in the
// working directory, and leaves out what it does not find there.
func Append(list List, dir int) (List, error) {
	fd, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return list, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		list = append(list, byte(Unknown))
		list = append(list, name...)
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

// Lstat describes the entry of an open directory, without following symlinks.
func (e Entry) Lstat(dir int, st *unix.Stat_t) error {
	for {
		err := unix.Fstatat(dir, string(e.Name()), st, unix.AT_SYMLINK_NOFOLLOW)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
