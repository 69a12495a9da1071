package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/millhand/millhand/internal/gitops/ignore"
)

const (
	// maxDepth is the maximum depth of a walk below its base. Only a tree made
	// to exhaust open files is deeper.
	maxDepth = 500
	// batch is the number of files of one directory per task.
	batch = 64
	// maxIgnored is the maximum number of files and directories in ignored directories that are
	// listed to count the files, since there can be far more of them than others.
	maxIgnored = 2000
)

// walk visits all files below a directory.
type walk struct {
	scope Scope
	// accepts reports whether to enter a directory or to visit a file. The path is
	// relative to the base.
	accepts func(rel string, isDir bool) bool
	// visit is called for every file that is wanted, not ignored and visible, with the path
	// relative to the root, by several goroutines.
	visit func(ctx context.Context, f *directory, path string)
	// leftOut are rules for paths relative to the base, in addition to those of ignore files; nil
	// for none.
	leftOut *ignore.Matcher

	memory  memory
	pool    pool
	base    string // path of the directory where the walk starts, as directory.path
	tracked func() ignore.Tracked
	all     bool // nothing is ignored
	counts
}

// counts are what a walk has met besides the files that it visits.
type counts struct {
	unreadable, tooLarge atomic.Int64
	tooSlow              atomic.Int64
	ignored              atomic.Int64 // files
	inIgnored            atomic.Int64 // files and directories in ignored directories
	others               atomic.Bool  // files that are not ignored
}

// open goes from the root down to the base, reading the .gitignore files on
// the way. If the base is a file, it returns the directory and the file's name.
func (w *walk) open() (f *directory, file string, err error) {
	base := path.Clean(w.scope.Base)
	if !fs.ValidPath(base) {
		return nil, "", fmt.Errorf("search %s: path is not below the root", w.scope.Base)
	}
	w.memory = w.scope.Cache.begin()
	w.tracked = func() ignore.Tracked { return ignore.Tracked{} }
	if w.scope.Ignore.Tracked != nil {
		w.tracked = sync.OnceValue(w.scope.Ignore.Tracked)
	}
	top, err := openHandle(w.scope.Root)
	if err != nil {
		return nil, "", fmt.Errorf("search %s: %w", base, cause(err))
	}
	f = newDirectory(top, "", w.scope.Ignore.Rules)
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
	next.ignored = w.ignores(f, f.path+name, true)
	return next, nil
}

// run walks from a directory and releases it. If all files below a
// directory other than the root are ignored, it was named because of them: then nothing is.
func (w *walk) run(ctx context.Context, top *directory) error {
	w.base = top.path
	w.all = top.ignored && !w.tracked().Below(top.path)
	top.users.Add(1)
	defer top.release()
	w.pool.add(func() { w.scan(ctx, top, 0) })
	w.pool.run()
	if w.all || w.base == "" || w.others.Load() || ctx.Err() != nil {
		return ctx.Err()
	}
	h, err := top.directory(".") // the other one is at its end
	if err != nil {
		return cause(err)
	}
	w.all, w.counts = true, counts{}
	w.pool.add(func() { w.scan(ctx, newDirectory(h, top.path, nil), 0) })
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
	if f.ignored {
		w.inIgnored.Add(int64(len(entries)))
	}
	var tasks []func()
	var files []string
	for _, e := range entries {
		if !e.dir && !e.regular {
			continue
		}
		name, p := e.name, f.path+e.name
		accepted := !private(p, name) && w.accepts(strings.TrimPrefix(p, w.base), e.dir)
		if !accepted && (e.dir || w.others.Load()) {
			continue
		}
		ignored := w.ignores(f, p, e.dir)
		switch {
		case !e.dir:
			if w.selects(p, accepted, ignored) {
				files = append(files, p)
			}
		case depth == maxDepth:
			w.unreadable.Add(1)
		case ignored && !w.tracked().Below(p):
			w.count(f.handle, name, p+"/")
		default:
			f.users.Add(1)
			tasks = append(tasks, func() { w.enter(ctx, f, name, ignored, depth+1) })
		}
	}
	for paths := range slices.Chunk(files, batch) {
		f.users.Add(1)
		tasks = append(tasks, func() { w.visitAll(ctx, f, paths) })
	}
	w.pool.add(tasks...)
}

func holds(entries []entry, name string) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.name == name })
}

// selects reports whether a file is visited, and counts it if it is only ignored.
func (w *walk) selects(p string, accepted, ignored bool) bool {
	if !ignored && !w.others.Load() {
		w.others.Store(true)
	}
	if !accepted || w.scope.Visible != nil && !w.scope.Visible(p) {
		return false
	}
	if ignored {
		w.ignored.Add(1)
	}
	return !ignored
}

// count counts the files of a directory in h, and below it, of which none is tracked. Its path
// ends with a slash.
func (w *walk) count(h handle, name, path string) {
	if w.inIgnored.Load() > maxIgnored {
		return
	}
	dir, err := h.directory(name)
	if err != nil {
		return // it would not be searched either
	}
	defer dir.close()
	entries, _ := dir.entries() // as far as it can be read
	w.inIgnored.Add(int64(len(entries)))
	for _, e := range entries {
		p := path + e.name
		switch {
		case !e.dir && !e.regular || private(p, e.name) || !w.accepts(strings.TrimPrefix(p, w.base), e.dir):
		case e.dir:
			w.count(dir, e.name, p+"/")
		default:
			w.selects(p, true, true)
		}
	}
}

// ignores reports whether a path in a directory is ignored: excluded by rules and not tracked.
// Files in an ignored directory can be tracked nevertheless.
func (w *walk) ignores(f *directory, p string, isDir bool) bool {
	excluded := f.ignored || f.rules.Ignored(p, isDir) || w.leftOut.Ignored(strings.TrimPrefix(p, w.base), isDir)
	return excluded && !w.all && !w.tracked().Has(p)
}

// enter opens a directory in parent, which it releases, and scans it.
func (w *walk) enter(ctx context.Context, parent *directory, name string, ignored bool, depth int) {
	f, err := parent.child(name)
	parent.release()
	if err != nil {
		w.note(err)
		return
	}
	f.ignored = ignored
	w.scan(ctx, f, depth)
}

func (w *walk) visitAll(ctx context.Context, f *directory, paths []string) {
	defer f.release()
	for _, path := range paths {
		if ctx.Err() != nil {
			return
		}
		w.visit(ctx, f, path)
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
	return Skipped{
		Unreadable: int(w.unreadable.Load()), TooLarge: int(w.tooLarge.Load()), TooSlow: int(w.tooSlow.Load()),
		Ignored: int(w.ignored.Load()), ManyIgnored: w.inIgnored.Load() > maxIgnored,
	}
}
