// Package files writes files outside of workspaces. It does not decide what is written, and knows no workspaces.
//
// There are two kinds of paths. One on the command line or in the environment is the user's own: an [Own] follows
// symlinks and writes to devices and FIFOs. One that a manifest, a repository, a model or a server names is relative to
// a [Dir]. It is opened once, and all files are created relative to its file descriptor. If a command of an agent
// renames the directory, or replaces it or something in it by a symlink, millhand, which is not sandboxed, does not
// write elsewhere.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files/owner"
	"github.com/millhand/millhand/internal/proc/failpoint"
)

// Dir is an open directory, or a directory below one. It is safe for concurrent
// use. Names are relative, with slashes.
type Dir struct {
	top    *top
	prefix string // directory below top that names are relative to; "." for top itself
}

// top is the open directory.
type top struct {
	at   string // absolute path when it was opened
	base string // parent to re-create it from; symlinks below base are not followed

	mu   sync.Mutex
	root *os.Root
}

// newDir returns the Dir of a root that was opened at a path.
func newDir(root *os.Root, at string) *Dir {
	return &Dir{&top{at: at, base: filepath.Dir(at), root: root}, "."}
}

// root returns the open directory.
func (d *Dir) root() *os.Root {
	d.top.mu.Lock()
	defer d.top.mu.Unlock()
	return d.top.root
}

// again reports whether a failed operation is retried, because the directory was removed
// during the run and again has re-created it. A renamed directory still works.
func (d *Dir) again(err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	rel, err := filepath.Rel(d.top.base, d.top.at)
	if err == nil {
		err = os.MkdirAll(d.top.base, 0o755)
	}
	if err != nil {
		return false
	}
	created, err := Make(d.top.base, rel, false)
	if err != nil {
		return false
	}
	d.top.mu.Lock()
	defer d.top.mu.Unlock()
	d.top.root.Close()
	d.top.root = created.top.root
	return true
}

// Open opens an existing directory. The caller closes it.
func Open(dir string) (*Dir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open directory %s: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	return newDir(root, abs), nil
}

// OpenRegular opens a regular file by a name that others may have created in its directory. It follows no symlink, and
// does not wait for the other end of a FIFO.
func OpenRegular(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	return regular(f)
}

// OpenIn opens a regular file below a directory. Somebody else may have named it, and made the directory: no symlink below that
// is followed, and no FIFO waited for.
func OpenIn(dir, name string) (*os.File, error) {
	d, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Read(name)
}

// ReadIn reads a file that [OpenIn] opens.
func ReadIn(dir, name string) ([]byte, error) {
	f, err := OpenIn(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// regular closes a file that is not regular, and returns an error.
func regular(f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", f.Name())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// MakeOwn creates a directory that the user named, with its parents, and opens it. Symlinks are followed.
func MakeOwn(dir string, mode fs.FileMode) (*Dir, error) {
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, err
	}
	return Open(dir)
}

// MakeTemp creates and opens a directory with a new name in another one, as [os.MkdirTemp] does. Commands of an agent
// may have replaced the directory by a symlink before it was opened, which is an error.
func MakeTemp(base, pattern string) (*Dir, error) {
	dir, err := os.MkdirTemp(base, pattern)
	if err != nil {
		return nil, err
	}
	return Enter(filepath.Dir(dir), filepath.Base(dir))
}

// Make creates a directory below another, with its parents, and opens it. Its parents inherit their owners, who can then
// make others there (see package owner). It follows no
// symlinks below base. With replace, files in its path that are not directories are
// removed first; otherwise they are an error.
func Make(base, rel string, replace bool) (*Dir, error) {
	d, err := Open(base)
	if err != nil {
		return nil, err
	}
	d.top.base = d.top.at
	names := slices.DeleteFunc(strings.Split(filepath.ToSlash(rel), "/"), func(name string) bool { return name == "." || name == "" })
	for i, name := range names {
		next, created, err := d.enter(name, replace)
		if created && i < len(names)-1 {
			owner.InheritIn(d.root(), name)
		}
		d.Close()
		if err != nil {
			return nil, fmt.Errorf("create directory %s: %w", filepath.Join(base, rel), err)
		}
		next.top.base = d.top.base
		d = next
	}
	return d, nil
}

// enter creates and opens a directory in this one.
func (d *Dir) enter(name string, replace bool) (in *Dir, created bool, err error) {
	info, err := d.root().Lstat(name)
	if err == nil && !info.IsDir() {
		if !replace {
			return nil, false, fmt.Errorf("%s is not a directory", filepath.Join(d.top.at, name))
		}
		if err := d.root().Remove(name); err != nil {
			return nil, false, err
		}
	}
	err = d.root().Mkdir(name, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, false, err
	}
	in, failed := d.open(name)
	return in, err == nil, failed
}

// Enter opens an existing directory below another. It follows no symlinks below base.
// The caller closes it.
func Enter(base, rel string) (*Dir, error) {
	d, err := Open(base)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		next, err := d.open(name)
		d.Close()
		if err != nil {
			return nil, fmt.Errorf("open directory %s: %w", filepath.Join(base, rel), err)
		}
		d = next
	}
	return d, nil
}

// open opens a directory in this one, unless it is a symlink.
func (d *Dir) open(name string) (*Dir, error) {
	root, err := d.root().OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	var named fs.FileInfo
	if err == nil {
		named, err = d.root().Lstat(name)
	}
	if err == nil && !os.SameFile(opened, named) {
		err = fmt.Errorf("%s is a symlink", filepath.Join(d.top.at, name))
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return newDir(root, filepath.Join(d.top.at, name)), nil
}

// Sub returns a directory below this one. It is created with its first file, and closed
// with this one.
func (d *Dir) Sub(name string) *Dir {
	return &Dir{d.top, path.Join(d.prefix, name)}
}

// Path returns the absolute path that the directory had when it was opened, for messages
// and for programs that need a path.
func (d *Dir) Path() string { return filepath.Join(d.top.at, filepath.FromSlash(d.prefix)) }

// Rel returns an absolute path in the directory as a path, with slashes, relative to the
// directory that was opened.
func (d *Dir) Rel(abs string) string {
	return filepath.ToSlash(strings.TrimPrefix(abs, d.top.at+string(filepath.Separator)))
}

// Close closes the directory and those below it. Open files stay open.
func (d *Dir) Close() { d.root().Close() }

// Own reports whether the directory belongs to the user of this process, and no other
// user can write to it.
func (d *Dir) Own() bool {
	info, err := d.root().Stat(d.prefix)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// Exists reports whether the name exists; a dangling symlink does.
func (d *Dir) Exists(name string) bool {
	_, err := d.root().Lstat(path.Join(d.prefix, name))
	return err == nil
}

// Mkdir creates a directory, with its parents.
func (d *Dir) Mkdir(name string) error {
	name = path.Join(d.prefix, name)
	err := d.mkdir(name)
	if d.again(err) {
		err = d.mkdir(name)
	}
	return err
}

// Create creates a new file to append to, with its parent directories. It is an error if
// the file exists.
func (d *Dir) Create(name string) (*os.File, error) {
	return d.file(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
}

// Append opens a file to append to, and creates it if necessary.
func (d *Dir) Append(name string) (*os.File, error) {
	return d.file(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NONBLOCK, 0o644)
}

// Read opens a regular file to read it.
func (d *Dir) Read(name string) (*os.File, error) {
	if err := d.Check(name); err != nil {
		return nil, err
	}
	f, err := d.root().OpenFile(path.Join(d.prefix, name), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return regular(f)
}

// Check returns an error if a file can't have the name: because it is a directory, a device or something else that is
// not a regular file, or because a symlink is in its path, even one that leads to the directory itself.
func (d *Dir) Check(name string) error {
	at, names := "", strings.Split(path.Join(d.prefix, name), "/")
	for i, name := range names {
		at = path.Join(at, name)
		info, err := d.root().Lstat(at)
		last := i == len(names)-1
		shown := filepath.Join(d.top.at, at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symlink", shown)
		case !last && !info.IsDir():
			return fmt.Errorf("%s is not a directory", shown)
		case last && !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file", shown)
		}
	}
	return nil
}

func (d *Dir) file(name string, flags int, mode fs.FileMode) (*os.File, error) {
	if err := d.Check(name); err != nil {
		return nil, err
	}
	name = path.Join(d.prefix, name)
	open := func() (*os.File, error) {
		f, err := d.root().OpenFile(name, flags, mode)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if err := d.mkdir(path.Dir(name)); err != nil { // most files are not the first in their directory
			return nil, err
		}
		return d.root().OpenFile(name, flags, mode)
	}
	f, err := open()
	if d.again(err) {
		f, err = open()
	}
	return f, err
}

// mkdir creates a directory by its name below top.
func (d *Dir) mkdir(name string) error { return d.root().MkdirAll(name, 0o755) }

// CreateTemp creates a new file named by the pattern, with its asterisk replaced by a
// random number, like [os.CreateTemp]. It returns the file and its name.
func (d *Dir) CreateTemp(pattern string) (*os.File, string, error) {
	return d.createTemp(pattern, 0o600)
}

func (d *Dir) createTemp(pattern string, mode fs.FileMode) (*os.File, string, error) {
	before, after, _ := strings.Cut(pattern, "*")
	for try := 0; ; try++ {
		name := before + strconv.FormatUint(uint64(rand.Uint32()), 10) + after
		f, err := d.file(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil || !errors.Is(err, fs.ErrExist) || try > 1000 {
			return f, name, err
		}
	}
}

// WriteAtomic writes a file atomically: it writes and syncs a temporary file and renames
// it.
func (d *Dir) WriteAtomic(name string, write func(io.Writer) error) error {
	end, err := d.BeginAtomic(name, write)
	if err != nil {
		return err
	}
	return end()
}

// BeginAtomic writes the temporary file of [Dir.WriteAtomic]. end syncs and renames it; it is called
// once, and the ends of several files may run concurrently.
func (d *Dir) BeginAtomic(name string, write func(io.Writer) error) (end func() error, err error) {
	return d.begin(name, 0o600, write, func(f *os.File) error { return f.Chmod(0o644) })
}

// Write writes a regular file atomically. A new one gets the mode, less the umask; an existing one keeps its mode, and its
// owner if that is permitted. Everything else that has the name, such as a symlink, is an error.
func (d *Dir) Write(name string, data []byte, mode fs.FileMode) error {
	if err := d.Check(name); err != nil {
		return err
	}
	finish := func(*os.File) error { return nil }
	if info, err := d.root().Lstat(path.Join(d.prefix, name)); err == nil {
		mode = 0o600
		finish = func(f *os.File) error {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				f.Chown(int(st.Uid), int(st.Gid)) //nolint:errcheck // only root may give files away
			}
			return f.Chmod(info.Mode().Perm())
		}
	}
	end, err := d.begin(name, mode, func(out io.Writer) error {
		_, err := out.Write(data)
		return err
	}, finish)
	if err != nil {
		return err
	}
	return end()
}

// WriteNew writes a file that must not exist, and does not wait until it is on the disk.
func (d *Dir) WriteNew(name string, data []byte) error {
	f, err := d.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// begin writes a temporary file with a mode. end finishes, syncs and renames it.
func (d *Dir) begin(name string, mode fs.FileMode, write func(io.Writer) error, finish func(*os.File) error) (end func() error, err error) {
	dir, base := path.Split(name)
	f, temp, err := d.createTemp(dir+"."+base+".*", mode)
	if err != nil {
		return nil, err
	}
	if err := write(f); err != nil {
		f.Close()
		d.Remove(temp) //nolint:errcheck // the first error is the one to report
		return nil, err
	}
	return func() error {
		err := f.Sync()
		if err == nil {
			err = finish(f)
		}
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err == nil {
			kind, _, _ := strings.Cut(path.Join(d.prefix, name), "/")
			failpoint.Hit(failpoint.FileWritten, kind)
			err = d.Rename(temp, name)
			failpoint.Hit(failpoint.FileRenamed, kind)
		}
		if err != nil {
			d.Remove(temp) //nolint:errcheck // as above
		}
		return err
	}, nil
}

// RemoveTemporary removes the temporary files of [Dir.WriteAtomic] and the incomplete copies of [Dir.MoveTo] that a
// killed process left for some names in the directory.
func (d *Dir) RemoveTemporary(names []string) {
	entries, _ := fs.ReadDir(d.FS(), ".") // others can stay
	for _, e := range entries {
		of := func(name string) bool {
			number, ok := strings.CutPrefix(e.Name(), "."+name+".")
			return ok && number != "" && strings.Trim(number, "0123456789") == ""
		}
		if (e.IsDir() || e.Type().IsRegular()) && slices.ContainsFunc(names, of) {
			d.RemoveAll(e.Name()) //nolint:errcheck // likewise
		}
	}
}

// Rename renames a file within the directory.
func (d *Dir) Rename(from, to string) error {
	return d.root().Rename(path.Join(d.prefix, from), path.Join(d.prefix, to))
}

// Remove removes a file or an empty directory.
func (d *Dir) Remove(name string) error { return d.root().Remove(path.Join(d.prefix, name)) }

// RemoveAll removes a file, or a directory with its contents.
func (d *Dir) RemoveAll(name string) error { return d.root().RemoveAll(path.Join(d.prefix, name)) }

// FS returns the file system of the directory.
func (d *Dir) FS() fs.FS {
	sub, err := fs.Sub(d.root().FS(), d.prefix)
	if err != nil {
		panic(err) // the prefix is a valid path, cleaned by Sub
	}
	return sub
}
