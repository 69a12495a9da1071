package sharedfile

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The functions below act on an entry of an open directory. They do not follow symlinks, and are
// several times faster than those of os.Root, which resolve all directories of a path again. A name
// has no slash.

// ReadIn reads a file until the buffer is full or the file ends, and returns the number of bytes. It
// does not block on a pipe.
func ReadIn(dir *os.File, name string, buf []byte) (int, error) {
	fd, err := openIn(dir, name, OpenFlags, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd) //nolint:errcheck // it was only read
	n := 0
	for n < len(buf) {
		more := 0
		err := in("read", dir, name, func() (err error) {
			more, err = unix.Read(fd, buf[n:])
			return err
		})
		if err != nil || more == 0 {
			return n, err
		}
		n += more
	}
	return n, nil
}

// WriteIn makes a file with a content and a mode, which is subject to the umask. The file must not exist.
func WriteIn(dir *os.File, name string, data []byte, mode fs.FileMode) error {
	fd, err := openIn(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, mode)
	if err != nil {
		return err
	}
	for len(data) > 0 && err == nil {
		err = in("write", dir, name, func() error {
			n, err := unix.Write(fd, data)
			data = data[max(n, 0):]
			return err
		})
	}
	return errors.Join(err, unix.Close(fd))
}

func openIn(dir *os.File, name string, flags int, mode fs.FileMode) (fd int, err error) {
	err = in("open", dir, name, func() (err error) {
		fd, err = unix.Openat(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode.Perm()))
		return err
	})
	return fd, err
}

// MkdirIn makes a directory.
func MkdirIn(dir *os.File, name string) error {
	return in("mkdir", dir, name, func() error { return unix.Mkdirat(int(dir.Fd()), name, 0o777) })
}

// SymlinkIn makes a symlink.
func SymlinkIn(dir *os.File, target, name string) error {
	return in("symlink", dir, name, func() error { return unix.Symlinkat(target, int(dir.Fd()), name) })
}

// SetTimeIn sets the time of the last access and modification.
func SetTimeIn(dir *os.File, name string, t time.Time) error {
	ts, err := unix.TimeToTimespec(t)
	if err != nil {
		return err
	}
	return in("utimensat", dir, name, func() error {
		return unix.UtimesNanoAt(int(dir.Fd()), name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// in makes a system call, again after each signal.
func in(op string, dir *os.File, name string, call func() error) error {
	for {
		err := call()
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return &fs.PathError{Op: op, Path: dir.Name() + "/" + name, Err: err}
		}
	}
}
