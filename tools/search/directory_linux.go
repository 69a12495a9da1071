package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// On Linux a directory is listed, and its files are opened and read, by system
// calls of our own. os.Root is as safe, but looks each name of a listing up
// again, and offers each file to the poller: half of what a search costs.

// Offsets in linux_dirent64, and the types of entries; see getdents64(2).
const (
	direntSize = 16 // uint16
	direntType = 18 // uint8
	direntName = 19 // ends with NUL
)

// readEntries lists dir, which is root, in no order. With an error come those
// entries that were read before it.
func readEntries(root *os.Root, dir *os.File) ([]entry, error) {
	var list []entry
	buf := make([]byte, 16<<10)
	for {
		n, err := ignoringEINTR(func() (int, error) { return unix.Getdents(int(dir.Fd()), buf) })
		if err != nil || n <= 0 {
			return list, err
		}
		for rest := buf[:n]; len(rest) >= direntName; {
			size := int(binary.NativeEndian.Uint16(rest[direntSize:]))
			if size < direntName || size > len(rest) {
				return list, errors.New("invalid directory entry from the kernel")
			}
			name, _, _ := bytes.Cut(rest[direntName:size], []byte{0})
			if e, ok := newEntry(root, string(name), rest[direntType]); ok {
				list = append(list, e)
			}
			rest = rest[size:]
		}
	}
}

// newEntry makes an entry; false for those of the directory itself and what is
// gone again.
func newEntry(root *os.Root, name string, kind byte) (entry, bool) {
	if name == "." || name == ".." || name == "" {
		return entry{}, false
	}
	if kind == unix.DT_UNKNOWN { // some file systems don't say
		info, err := root.Lstat(name)
		if err != nil {
			return entry{}, false
		}
		return entry{name, info.IsDir(), info.Mode().IsRegular()}, true
	}
	return entry{name, kind == unix.DT_DIR, kind == unix.DT_REG}, true
}

// openAt opens a regular file in dir. The name is one of its listing, so it
// has no slash, and a link that has taken its place is not followed.
func openAt(_ *os.Root, dir *os.File, name string) (io.ReadCloser, fileInfo, error) {
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if errors.Is(err, unix.ELOOP) {
		return nil, fileInfo{}, errSpecial
	}
	if err != nil {
		return nil, fileInfo{}, &os.PathError{Op: "open", Path: name, Err: err}
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errSpecial
	}
	if err != nil {
		unix.Close(fd) //nolint:errcheck // the first error is the one to tell
		return nil, fileInfo{}, err
	}
	return rawFile(fd), fileInfo{st.Size, time.Unix(st.Mtim.Unix())}, nil
}

// statAt describes a regular file in dir, as openAt.
func statAt(_ *os.Root, dir *os.File, name string) (fileInfo, error) {
	var st unix.Stat_t
	_, err := ignoringEINTR(func() (int, error) {
		return 0, unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return fileInfo{}, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fileInfo{}, errSpecial
	}
	return fileInfo{st.Size, time.Unix(st.Mtim.Unix())}, nil
}

// rawFile is an open regular file.
type rawFile int

// Read reads the file on from where it was.
func (f rawFile) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := ignoringEINTR(func() (int, error) { return unix.Read(int(f), p) })
	switch {
	case err != nil:
		return 0, &os.PathError{Op: "read", Path: "file", Err: err}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Close closes the file.
func (f rawFile) Close() error { return unix.Close(int(f)) }

// ignoringEINTR makes a system call again that a signal interrupted.
func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
