package files

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Free returns the number of free bytes on the directory's disk, -1 if unknown.
func (d *Dir) Free() int64 {
	at, err := d.root().Open(".")
	if err != nil {
		return -1
	}
	defer at.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(at.Fd()), &st); err != nil || st.Blocks == 0 {
		return -1
	}
	return int64(st.Bavail) * int64(st.Bsize) //nolint:gosec,unconvert // no disk is so large; Bsize has 32 bits on macOS
}

// Reserve reserves bytes on the directory's disk until the result is closed or the
// process exits.
func (d *Dir) Reserve(bytes int64) (io.Closer, error) {
	f, name, err := d.CreateTemp(".reserve.*")
	if err != nil {
		return nil, fmt.Errorf("reserve disk space for reports: %w", err)
	}
	err = d.Remove(name)
	if err == nil {
		err = allocate(f, bytes)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("reserve disk space for reports: %w", err)
	}
	return f, nil
}

// allocate allocates the blocks of a file, by writing if fallocate is not supported.
func allocate(f *os.File, bytes int64) error {
	err := fallocate(f, bytes)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	block := make([]byte, 64<<10)
	for at := int64(0); at < bytes; at += int64(len(block)) {
		if _, err := f.WriteAt(block[:min(int64(len(block)), bytes-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// IsFull reports whether an error means that a disk, or a user's share of it, is
// full.
func IsFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// Full reports whether the disk of a path has no room for another file, or no inode.
func Full(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && (st.Blocks > 0 && st.Bavail == 0 || st.Files > 0 && st.Ffree == 0)
}

// ReadOnly reports whether the disk of a path is mounted read-only.
func ReadOnly(path string) bool {
	return errors.Is(unix.Access(path, unix.W_OK), unix.EROFS)
}

// Reason returns the error of the file system without the path.
func Reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
