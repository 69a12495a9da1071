//go:build linux && (amd64 || arm64)

package dirent

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in a linux_dirent64.
const (
	lengthAt = 16
	kindAt   = 18
	nameAt   = 19
)

// leastSpace is the minimum size of the buffer of a system call. Entries have up to 280 bytes.
const leastSpace = 16 << 10

// Append appends the entries of an open directory except "." and "..", in any order, to a list,
// which is returned with them. A name may be listed twice if it was replaced meanwhile. Entries
// before an error are appended.
func Append(list List, dir int) (List, error) {
	for {
		list = slices.Grow(list, leastSpace)
		n, err := 0, unix.EINTR
		for err == unix.EINTR {
			n, err = getdents(dir, list[len(list):cap(list)])
		}
		if n <= 0 {
			if err == 0 {
				return list, nil
			}
			return list, err
		}
		list = list[:len(list)+n]
	}
}

func getdents(dir int, buf []byte) (int, unix.Errno) {
	n, _, err := unix.Syscall(unix.SYS_GETDENTS64, uintptr(dir), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	return int(n), err
}

// Next returns the first entry of a list and the rest of it; false if the list is empty.
func (l List) Next() (e Entry, rest List, ok bool) {
	for len(l) > nameAt {
		length := int(binary.NativeEndian.Uint16(l[lengthAt:]))
		if length <= nameAt || length > len(l) {
			return e, nil, false // no system does that
		}
		name := l[nameAt:length]
		kind := l[kindAt]
		l = l[length:]
		end := bytes.IndexByte(name, 0)
		if end < 1 || name[0] == '.' && (end == 1 || end == 2 && name[1] == '.') {
			continue
		}
		return Entry{kindOf(kind), name[:end+1]}, l, true
	}
	return e, nil, false
}

func kindOf(d byte) Kind {
	switch d {
	case unix.DT_UNKNOWN:
		return Unknown
	case unix.DT_REG:
		return File
	case unix.DT_DIR:
		return Dir
	case unix.DT_LNK:
		return Symlink
	}
	return Other
}

// Lstat describes the entry of an open directory, without following symlinks.
func (e Entry) Lstat(dir int, st *unix.Stat_t) error {
	for {
		_, _, err := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(dir), uintptr(unsafe.Pointer(&e.name[0])), uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
		switch err {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return err
		}
	}
}
