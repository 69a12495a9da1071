package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/millhand/millhand/internal/files/owner"
)

// ErrNotRegular is the error for a path that is not a regular file but a
// directory, device, pipe or socket.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is the error for a file larger than the caller's limit.
var ErrTooLarge = errors.New("file too large")

// Workspace is a directory that a session may use. It is safe for concurrent use.
type Workspace struct {
	dir  string // absolute, without symlinks
	root *os.Root
	all  *os.Root // "/", for allowed paths outside the workspace

	mu     sync.Mutex
	stamps map[string]stamp // by absolute path: the version last read or written by this session
}

// stamp identifies a version of a file.
type stamp struct {
	size int64
	mod  time.Time
}

// Open opens the directory dir as a workspace.
func Open(dir string) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	all, err := os.OpenRoot("/")
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("open file system root: %w", err)
	}
	return &Workspace{dir: abs, root: root, all: all, stamps: map[string]stamp{}}, nil
}

// Close releases the workspace without removing the directory.
func (w *Workspace) Close() error { return errors.Join(w.root.Close(), w.all.Close()) }

// Dir returns the workspace's absolute path, without symlinks.
func (w *Workspace) Dir() string { return w.dir }

// Root returns the root of the workspace, for searching in it. The caller must
// not close it.
func (w *Workspace) Root() *os.Root { return w.root }

// OpenOutside opens a root for searching at an allowed path outside the
// workspace: the directory itself, or the parent of a file. base is the path
// relative to the root. The caller closes the root.
func (w *Workspace) OpenOutside(p Path) (root *os.Root, base string, err error) {
	dir, base := p.Abs, "."
	if st, err := w.Stat(p); err == nil && !st.IsDir() {
		dir, base = filepath.Split(p.Abs)
	}
	if root, err = os.OpenRoot(dir); err != nil {
		return nil, "", fmt.Errorf("open %s: %w", p.Abs, cause(err))
	}
	return root, base, nil
}

// at returns the root for a path, and the path relative to it.
func (w *Workspace) at(p Path) (*os.Root, string) {
	if p.Outside {
		return w.all, "." + p.Abs
	}
	return w.root, p.Rel
}

// Stat returns the file information of the path.
func (w *Workspace) Stat(p Path) (fs.FileInfo, error) {
	root, name := w.at(p)
	return root.Stat(name)
}

// ReadFile returns the content of a regular file and records its version. It
// fails with ErrTooLarge above limit bytes.
func (w *Workspace) ReadFile(p Path, limit int64) ([]byte, error) {
	data, st, err := w.read(p, limit)
	if err == nil {
		w.remember(p, st)
	}
	return data, err
}

// Peek is ReadFile without recording the version: only some lines of it are shown.
func (w *Workspace) Peek(p Path, limit int64) ([]byte, error) {
	data, _, err := w.read(p, limit)
	return data, err
}

func (w *Workspace) read(p Path, limit int64) ([]byte, fs.FileInfo, error) {
	f, st, err := w.open(p)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if st.Size() > limit {
		return nil, nil, fmt.Errorf("read %s (%d bytes): %w", p, st.Size(), ErrTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", p, err)
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("read %s: %w", p, ErrTooLarge)
	}
	return data, st, nil
}

// OpenFile opens a regular file for reading and records its version. The caller
// closes it.
func (w *Workspace) OpenFile(p Path) (*os.File, error) {
	f, st, err := w.open(p)
	if err != nil {
		return nil, err
	}
	w.remember(p, st)
	return f, nil
}

// open opens a regular file. O_NONBLOCK prevents the open from blocking on a
// pipe.
func (w *Workspace) open(p Path) (*os.File, fs.FileInfo, error) {
	root, name := w.at(p)
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", p, cause(err))
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("open %s: %w", p, err)
	}
	return f, st, nil
}

// ReadDir lists a directory, sorted by name.
func (w *Workspace) ReadDir(p Path) ([]fs.DirEntry, error) {
	root, name := w.at(p)
	entries, err := fs.ReadDir(root.FS(), path.Clean(filepath.ToSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", p, cause(err))
	}
	return entries, nil
}

// WriteFile creates or replaces a file and creates its parent directories. It
// replaces atomically, by renaming a temporary file in the same directory, and
// preserves the mode of an existing file.
func (w *Workspace) WriteFile(p Path, data []byte) error {
	root, name := w.at(p)
	mode := fs.FileMode(0o644)
	st, err := root.Lstat(name)
	switch {
	case err == nil && !st.Mode().IsRegular():
		return fmt.Errorf("write %s: %w", p, ErrNotRegular)
	case err == nil:
		mode = st.Mode().Perm()
		if err := syscall.Access(p.Abs, 2); err != nil { // W_OK: a rename needs no write permission on the file itself
			return fmt.Errorf("write %s: %w", p, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: %w", p, cause(err))
	}
	if dir := path.Dir(name); dir != "." {
		if err := owner.MkdirAllIn(root, dir, 0o755); err != nil {
			return fmt.Errorf("create directory %s: %w", dir, cause(err))
		}
	}
	if st == nil { // a new file
		if st, err = root.Stat(path.Dir(name)); err != nil {
			return fmt.Errorf("write %s: %w", p, cause(err))
		}
	}
	if err := replace(root, name, data, mode, st); err != nil {
		return fmt.Errorf("write %s: %w", p, cause(err))
	}
	if st, err := root.Stat(name); err == nil {
		w.remember(p, st)
	}
	return nil
}

// replace writes a temporary file and renames it to name. Root's gets the owner of another one.
func replace(root *os.Root, name string, data []byte, mode fs.FileMode, owned fs.FileInfo) (err error) {
	tmp, f, err := createTemp(root, name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			root.Remove(tmp) //nolint:errcheck // best effort: the first error is returned
		}
	}()
	owner.Like(f, owned)
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return root.Rename(tmp, name)
}

// createTemp creates a temporary file in the directory of name.
func createTemp(root *os.Root, name string) (string, *os.File, error) {
	dir, base := path.Split(name)
	if len(base) > 200 { // leave room for the affixes below the limit of 255 bytes
		base = base[:200]
	}
	for n := 0; ; n++ {
		tmp := fmt.Sprintf("%s.%s.%d-%d.tmp", dir, base, os.Getpid(), n)
		f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil || !errors.Is(err, fs.ErrExist) || n > 1000 {
			return tmp, f, err
		}
	}
}

// Changed reports whether a file changed since this session last read or wrote
// it. A file that it never accessed counts as unchanged.
func (w *Workspace) Changed(p Path) bool {
	w.mu.Lock()
	known, ok := w.stamps[p.Abs]
	w.mu.Unlock()
	if !ok {
		return false
	}
	st, err := w.Stat(p)
	return err != nil || stampOf(st) != known
}

func (w *Workspace) remember(p Path, st fs.FileInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stamps[p.Abs] = stampOf(st)
}

func stampOf(st fs.FileInfo) stamp { return stamp{st.Size(), st.ModTime()} }

// cause strips the operation and path that package os adds to an error; this
// package adds its own, with the path as the model knows it.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
