package search

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// On Linux a directory is opened, and its files are opened and read, by
// system calls of our own. os.Root is as safe, but resolves each name of a listing
// again, with several system calls for a directory, and registers each file with the
// poller: half of the cost of a search. The names are those of a listing or the elements
// of a path: they have no slash and are not "..", and symlinks are not followed.

// handle is the descriptor of an open directory.
type handle int

// openHandle opens the directory of a root.
func openHandle(root *os.Root) (handle, error) {
	dir, err := root.Open(".")
	if err != nil {
		return -1, err
	}
	defer dir.Close()
	return handle(dir.Fd()).directory(".")
}

// directory opens a directory in h. It does not block if a pipe has replaced it.
func (h handle) directory(name string) (handle, error) {
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Openat(int(h), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return -1, errSpecial
	case err != nil:
		return -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return handle(fd), nil
}

func (h handle) close() {
	unix.Close(int(h)) //nolint:errcheck // it was only read
}

// entries lists the directory, unordered. If it returns an error, it also returns the
// entries read before.
func (h handle) entries() ([]entry, error) {
	own, err := h.directory(".") // its position is that of no other listing
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(own), ".")
	defer dir.Close()
	found, err := dir.ReadDir(-1)
	list := make([]entry, len(found))
	for i, e := range found {
		list[i] = entry{e.Name(), e.IsDir(), e.Type().IsRegular()}
	}
	return list, err
}

// open opens a regular file in h. It does not block on a pipe.
func (h handle) open(name string) (io.ReadCloser, fileInfo, error) {
	fd, err := ignoringEINTR(func() (int, error) {
		return unix.Openat(int(h), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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
		unix.Close(fd) //nolint:errcheck // the first error is the one to report
		return nil, fileInfo{}, err
	}
	return rawFile(fd), described(&st), nil
}

// lstat describes what a name in h is.
func (h handle) lstat(name string) (fileInfo, error) {
	var st unix.Stat_t
	_, err := ignoringEINTR(func() (int, error) {
		return 0, unix.Fstatat(int(h), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return fileInfo{}, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	return described(&st), nil
}

func described(st *unix.Stat_t) fileInfo {
	kind := fs.ModeIrregular
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		kind = 0
	case unix.S_IFDIR:
		kind = fs.ModeDir
	case unix.S_IFLNK:
		kind = fs.ModeSymlink
	}
	return fileInfo{st.Size, time.Unix(st.Mtim.Unix()), kind, version{
		dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), //nolint:unconvert // other architectures have other types
	}}
}

// stat describes the directory itself.
func (h handle) stat() (fileInfo, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(h), &st); err != nil {
		return fileInfo{}, &os.PathError{Op: "stat", Path: "directory", Err: err}
	}
	return described(&st), nil
}

// fileSystem returns the trust in versions on the directory's file system. Network and user-space
// file systems may have attributes of an earlier moment. An overlay does what
// the file systems below it do, and tmpfs, which may be one of them, sets times at a first write
// to a page only.
func (h handle) fileSystem() trust {
	var st unix.Statfs_t
	if _, err := ignoringEINTR(func() (int, error) { return 0, unix.Fstatfs(int(h), &st) }); err != nil {
		return never
	}
	switch int64(st.Type) & 0xffffffff { //nolint:unconvert // other architectures have other types
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC: // the first also of ext2 and ext3
		return always
	case unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return unmapped
	}
	return never
}

// fileClock returns the current time in nanoseconds by the clock from which the kernel
// sets the times of files; 0 if unknown.
func fileClock() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
		return 0
	}
	return now.Nano()
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
