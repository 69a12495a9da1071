// Package userfile resolves the paths that users and their manifests name, and reads files there up to a bound. It writes none, and does
// not know what the files are for or which of them a policy allows.
package userfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrTooLarge is the error of a file above 1 MiB, or above another bound of its reader.
var ErrTooLarge = errors.New("exceeds 1 MiB")

var errNoFile = errors.New("not a file")

// Read reads a file of at most so many bytes, or a pipe (a shell's process substitution), which
// stops when ctx ends. A pipe that nobody writes to is empty.
func Read(ctx context.Context, path string, most int) ([]byte, error) {
	f, err := openFile(path, os.ModeNamedPipe)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	return readBounded(f, most)
}

// ReadRegular reads a file of at most so many bytes that is no pipe, which
// cannot block.
func ReadRegular(path string, most int) ([]byte, error) {
	f, err := openFile(path, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readBounded(f, most)
}

// openFile opens a regular file, or one of another type that is asked for.
func openFile(path string, other os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && info.Mode()&other == 0 {
		err = errNoFile
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func readBounded(f *os.File, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		return nil, ErrTooLarge
	}
	return data, err
}

// IsFile reports whether a path is that of a regular file; symlinks are followed.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Missing describes what is wrong with a file. A nil
// error means that something else has its name.
func Missing(err error) string {
	switch {
	case err == nil || errors.Is(err, errNoFile):
		return "not a file"
	case errors.Is(err, os.ErrNotExist):
		return "not found"
	case errors.Is(err, os.ErrPermission):
		return "permission denied"
	default:
		return Reason(err)
	}
}

// Reason is the cause of an error about a path, without the path.
func Reason(err error) string {
	if pathError := new(os.PathError); errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

// Real is a directory without symlinks.
func Real(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir
	}
	return real
}

// Resolve makes a path of a file absolute.
func Resolve(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// RealPath resolves the symlinks of a path, of which the end need not exist.
func RealPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	parent := filepath.Dir(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) || parent == path {
		return real, err
	}
	if _, dangling := os.Lstat(path); dangling == nil {
		return "", err // what it leads to may appear later
	}
	real, err = RealPath(parent)
	return filepath.Join(real, filepath.Base(path)), err
}
