package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Own is the path of a file that the user wrote on the command line or set in the environment. Symlinks are
// followed, also to a file that does not exist yet, and devices and FIFOs are written.
type Own string

// maxSymlinks is the number of symlinks of a path, as in the kernel.
const maxSymlinks = 40

// readerTime is how long a FIFO may have no reader, or one that reads nothing.
const readerTime = 10 * time.Second

// Check returns an error if the file can't be written. It opens nothing: a FIFO may get its reader later.
func (o Own) Check() error {
	if dir := o.missing(); dir != "" { // Write creates it
		return writable(filepath.Dir(dir))
	}
	t, err := o.target()
	switch {
	case err != nil:
		return err
	case t.fd >= 0:
		return t.checkDescriptor()
	case t.info == nil:
		return writable(filepath.Dir(t.path))
	case t.info.IsDir():
		return &fs.PathError{Op: "write", Path: string(o), Err: unix.EISDIR}
	case t.info.Mode()&fs.ModeSocket != 0:
		return fmt.Errorf("%s is a socket", o)
	}
	return writable(t.path)
}

func writable(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// Write writes the file, with directories that its path lacks. A regular file is replaced atomically and keeps its
// mode and owner; if that is not permitted, it is overwritten. A FIFO waits some seconds for a reader; one that
// leaves early is no error. The end of ctx ends waiting.
func (o Own) Write(ctx context.Context, data []byte) error {
	if o.missing() != "" {
		if err := os.MkdirAll(filepath.Dir(string(o)), 0o755); err != nil {
			return err
		}
	}
	t, err := o.target()
	if err != nil {
		return err
	}
	if t.replaceable() {
		if err = t.replace(data); err == nil || !isRefused(err) {
			return err
		}
	}
	f, err := t.await(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := send(ctx, f, data); err != nil {
		return err
	}
	return f.Close()
}

// Append opens the file to append to, and creates it with the mode if it does not exist. A FIFO without a reader is an
// error.
func (o Own) Append(mode fs.FileMode) (*Stream, error) {
	t, err := o.target()
	if err != nil {
		return nil, err
	}
	f, err := t.open(os.O_CREATE|os.O_APPEND, mode)
	if t.isWithoutReader(err) {
		return nil, fmt.Errorf("%s is a FIFO without a reader: start its reader first", o)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Stream{f, info}, nil
}

// Stream is a file that is appended to.
type Stream struct {
	file *os.File
	info fs.FileInfo
}

// Info describes the file when it was opened.
func (s *Stream) Info() fs.FileInfo { return s.info }

// Write appends the data, and waits until those of a regular file are on the disk.
func (s *Stream) Write(ctx context.Context, data []byte) error {
	if !s.info.Mode().IsRegular() {
		return send(ctx, s.file, data)
	}
	_, err := s.file.Write(data)
	return cmp.Or(err, s.file.Sync())
}

// ReadAt reads a regular file.
func (s *Stream) ReadAt(data []byte, at int64) (int, error) {
	f, err := os.Open(s.file.Name())
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(data, at)
}

// Close closes the file.
func (s *Stream) Close() error { return s.file.Close() }

// missing returns the outermost directory of the path that does not exist; "" if all exist.
func (o Own) missing() string {
	found := ""
	for dir := filepath.Dir(string(o)); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return found
		}
		found = dir
	}
}

// target is what a path names after its symlinks.
type target struct {
	path string
	info fs.FileInfo // nil if nothing exists
	fd   int         // descriptor of this process, -1 for none
}

// target follows the symlinks of the path.
func (o Own) target() (target, error) {
	t := target{path: string(o), fd: -1}
	for range maxSymlinks {
		dir, name := filepath.Split(t.path)
		dir, err := filepath.EvalSymlinks(cmp.Or(dir, "."))
		if errors.Is(err, fs.ErrNotExist) {
			return t, fmt.Errorf("directory %s not found", filepath.Dir(t.path))
		}
		if err != nil {
			return t, err
		}
		t.path = filepath.Join(dir, name)
		if t.fd = descriptor(dir, name); t.fd >= 0 {
			return t, nil
		}
		if t.info, err = os.Lstat(t.path); errors.Is(err, fs.ErrNotExist) {
			return t, nil
		}
		if err != nil || t.info.Mode()&fs.ModeSymlink == 0 {
			return t, err
		}
		to, err := os.Readlink(t.path)
		if err != nil {
			return t, err
		}
		if !filepath.IsAbs(to) {
			to = dir + "/" + to // not cleaned: ".." is relative to what a symlink names
		}
		t.path = to
	}
	return t, &fs.PathError{Op: "open", Path: string(o), Err: unix.ELOOP}
}

// descriptor returns the descriptor of this process that an entry of a directory names, as /dev/stdout does, and -1 for
// another one. Opening it would begin at the start of a file that the process also writes.
func descriptor(dir, name string) int {
	fd, err := strconv.Atoi(name)
	if err != nil {
		return -1
	}
	self, _ := filepath.EvalSymlinks("/proc/self") // missing on other systems than Linux
	if dir == "/dev/fd" || self != "" && (dir == self+"/fd" || strings.HasPrefix(dir, self+"/task/") && filepath.Base(dir) == "fd") {
		return fd
	}
	return -1
}

// checkDescriptor returns an error if the descriptor is closed, only read, or not inherited: all that this process has
// opened are closed on exec.
func (t target) checkDescriptor() error {
	flags, err := unix.FcntlInt(uintptr(t.fd), unix.F_GETFL, 0)
	own := 0
	if err == nil {
		own, err = unix.FcntlInt(uintptr(t.fd), unix.F_GETFD, 0)
	}
	if err == nil && (flags&unix.O_ACCMODE == unix.O_RDONLY || own&unix.FD_CLOEXEC != 0) {
		err = unix.EBADF
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: t.path, Err: err}
	}
	return nil
}

// replaceable reports whether the target can be replaced: a file of others would become the user's.
func (t target) replaceable() bool {
	if t.fd >= 0 || t.info == nil {
		return t.fd < 0
	}
	st, ok := t.info.Sys().(*syscall.Stat_t)
	return t.info.Mode().IsRegular() && ok && (os.Geteuid() == 0 || int(st.Uid) == os.Geteuid())
}

func (t target) replace(data []byte) error {
	dir, err := Open(filepath.Dir(t.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Write(filepath.Base(t.path), data, 0o644)
}

// isRefused reports whether a directory does not permit that a file in it is replaced, which itself may be writable:
// a mount point is busy.
func isRefused(err error) bool {
	for _, refusal := range []error{unix.EACCES, unix.EPERM, unix.EROFS, unix.EBUSY, unix.ENAMETOOLONG} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// open opens the target to write to. The descriptor of a FIFO or a terminal does not block.
func (t target) open(flags int, mode fs.FileMode) (*os.File, error) {
	if t.fd < 0 {
		return os.OpenFile(t.path, flags|os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, mode)
	}
	if err := t.checkDescriptor(); err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(uintptr(t.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: t.path, Err: err}
	}
	return os.NewFile(uintptr(fd), t.path), nil
}

func (t target) isWithoutReader(err error) bool {
	return errors.Is(err, unix.ENXIO) && t.info != nil && t.info.Mode()&fs.ModeNamedPipe != 0
}

// await opens the target to overwrite it, a FIFO as soon as it has a reader.
func (t target) await(ctx context.Context) (*os.File, error) {
	expired := time.After(readerTime)
	for {
		f, err := t.open(os.O_CREATE|os.O_TRUNC, 0o644)
		if !t.isWithoutReader(err) {
			return f, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("%s is a FIFO without a reader: %w", t.path, context.Cause(ctx))
		case <-expired:
			return nil, fmt.Errorf("%s is a FIFO without a reader: timed out after %s", t.path, readerTime)
		}
	}
}

// send writes all data, unless its reader leaves or reads nothing for some time.
func send(ctx context.Context, f *os.File, data []byte) error {
	expire := func() { f.SetWriteDeadline(time.Unix(1, 0)) } //nolint:errcheck // files other than pipes have none and don't wait
	idle := time.AfterFunc(readerTime, expire)
	defer idle.Stop()
	defer context.AfterFunc(ctx, expire)()
	for len(data) > 0 {
		n, err := f.Write(data[:min(len(data), 4<<10)])
		if errors.Is(err, unix.EPIPE) {
			return nil
		}
		if err != nil {
			return err
		}
		data = data[n:]
		idle.Reset(readerTime)
	}
	return nil
}
