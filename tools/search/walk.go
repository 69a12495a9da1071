package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	// maxDepth is the maximum depth of a walk below its base. Only a tree made
	// to exhaust open files is deeper.
	maxDepth = 500
	// batch is the number of files of one directory per task.
	batch = 64
)

// walk visits all files below a directory.
type walk struct {
	scope Scope
	// accepts reports whether to enter a directory or to visit a file. The path is
	// relative to the base.
	accepts func(rel string, isDir bool) bool
	// visit is called for every file that is wanted, not ignored and visible,
	// by several goroutines.
	visit func(ctx context.Context, f *directory, name string)

	memory               memory
	pool                 pool
	base                 string // path of the directory where the walk starts, as directory.path
	unreadable, tooLarge atomic.Int64
	tooSlow              atomic.Int64
}

// open goes from the root down to the base, reading the .gitignore files on
// the way. If the base is a file, it returns the directory and the file's name.
func (w *walk) open() (f *directory, file string, err error) {
	base := path.Clean(w.scope.Base)
	if !fs.ValidPath(base) {
		return nil, "", fmt.Errorf("search %s: path is not below the root", w.scope.Base)
	}
	w.memory = w.scope.Cache.begin()
	top, err := openHandle(w.scope.Root)
	if err != nil {
		return nil, "", fmt.Errorf("search %s: %w", base, cause(err))
	}
	f = newDirectory(top, "", w.scope.Ignore)
	if base == "." {
		return f, "", nil
	}
	parts := strings.Split(base, "/")
	for i, name := range parts {
		next, err := w.step(f, name)
		if err == nil && next == nil && i < len(parts)-1 {
			err = errors.New("not a directory")
		}
		if err != nil {
			f.release()
			return nil, "", fmt.Errorf("search %s: %w", path.Join(parts[:i+1]...), err)
		}
		if next == nil {
			return f, name, nil
		}
		f.release()
		f = next
	}
	return f, "", nil
}

// openDir is open for a base that must be a directory.
func (w *walk) openDir() (*directory, error) {
	f, file, err := w.open()
	if err == nil && file != "" {
		f.release()
		err = fmt.Errorf("search %s: not a directory", w.scope.Base)
	}
	return f, err
}

// step goes from a directory to the one below it on the way to a base. It returns
// nil for a file.
func (w *walk) step(f *directory, name string) (*directory, error) {
	if private(f.path+name, name) {
		return nil, errors.New("files of git and millhand are not searched")
	}
	info, err := f.lstat(name)
	switch {
	case err != nil:
		return nil, cause(err)
	case info.kind.IsRegular():
		return nil, nil
	case info.kind == fs.ModeSymlink:
		return nil, errors.New("symlinks are not followed")
	case !info.kind.IsDir():
		return nil, errSpecial
	}
	w.note(f.readRules())
	next, err := f.child(name)
	if err != nil {
		return nil, cause(err)
	}
	return next, nil
}

// run walks from a directory and releases it. The error is the context's.
func (w *walk) run(ctx context.Context, top *directory) error {
	w.base = top.path
	w.pool.add(func() { w.scan(ctx, top, 0) })
	w.pool.run()
	return ctx.Err()
}

// scan reads a directory, which it releases, and adds tasks for what is in it.
func (w *walk) scan(ctx context.Context, f *directory, depth int) {
	defer f.release()
	if ctx.Err() != nil {
		return
	}
	entries, err := f.list(&w.memory)
	w.note(err)
	if holds(entries, ".gitignore") {
		w.note(f.readRules())
	}
	var tasks []func()
	var files []string
	for _, e := range entries {
		name := e.name
		switch {
		case !w.selects(f, name, e.dir, e.regular):
		case e.dir && depth == maxDepth:
			w.unreadable.Add(1)
		case e.dir:
			f.users.Add(1)
			tasks = append(tasks, func() { w.enter(ctx, f, name, depth+1) })
		default:
			files = append(files, name)
		}
	}
	for names := range slices.Chunk(files, batch) {
		f.users.Add(1)
		tasks = append(tasks, func() { w.visitAll(ctx, f, names) })
	}
	w.pool.add(tasks...)
}

func holds(entries []entry, name string) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.name == name })
}

// selects reports whether a directory is entered or a file visited.
func (w *walk) selects(f *directory, name string, isDir, isFile bool) bool {
	if !isDir && !isFile {
		return false
	}
	p := f.path + name
	if private(p, name) || !w.accepts(strings.TrimPrefix(p, w.base), isDir) || f.rules.Ignored(p, isDir) {
		return false
	}
	return isDir || w.scope.Visible == nil || w.scope.Visible(p)
}

// enter opens a directory in parent, which it releases, and scans it.
func (w *walk) enter(ctx context.Context, parent *directory, name string, depth int) {
	f, err := parent.child(name)
	parent.release()
	if err != nil {
		w.note(err)
		return
	}
	w.scan(ctx, f, depth)
}

func (w *walk) visitAll(ctx context.Context, f *directory, names []string) {
	defer f.release()
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		w.visit(ctx, f, name)
	}
}

// note counts an error of one file or directory. A file that was removed or
// replaced since it was listed is not an error.
func (w *walk) note(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errSpecial) {
		w.unreadable.Add(1)
	}
}

func (w *walk) skipped() Skipped {
	return Skipped{Unreadable: int(w.unreadable.Load()), TooLarge: int(w.tooLarge.Load()), TooSlow: int(w.tooSlow.Load())}
}
