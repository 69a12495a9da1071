package form

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/millhand/millhand/tasks/problem"
)

// Unreadable records that the file could not be read.
func (s *Source) Unreadable(err error) {
	if errors.Is(err, ErrTooLarge) {
		s.Found.Add(problem.Problem{File: s.Name, What: "the file exceeds 1 MiB", Fix: "split it into several"})
		return
	}
	fix := "check its path"
	if strings.Contains(s.Name, " ") && errors.Is(err, os.ErrNotExist) {
		fix += ", or write -p before it if it is a prompt"
	}
	s.Found.Add(problem.Problem{File: s.Name, What: Missing(err), Fix: fix})
}

// ErrTooLarge is the error of a file above 1 MiB, or of a list above its own bound.
var ErrTooLarge = errors.New("exceeds 1 MiB")

var errNoFile = errors.New("not a file")

// ReadFile reads a file, or a pipe (a shell's process substitution), which
// stops when ctx ends. A pipe that nobody writes to is empty.
func ReadFile(ctx context.Context, path string) ([]byte, error) {
	f, err := openFile(path, os.ModeNamedPipe)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	return readBounded(f, MaxFile)
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

// Inputs is what the files of one load share: standard input, which can be read
// once, and how much was read of lists.
type Inputs struct {
	Ctx     context.Context //nolint:containedctx // readers of values have no parameter for it
	Stdin   func() ([]byte, error)
	Taken   string // what standard input is read as; "" as long as it is not
	Ignored bool   // lists from standard input are passed over
	Lines   int
	Uses    *Uses // of this machine
}

// RealDir is a directory without symlinks.
func RealDir(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir
	}
	return real
}

// ResolvePath makes a path of a file absolute.
func ResolvePath(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
