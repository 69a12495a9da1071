package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/files/dirent"
	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/ignore"
	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/proc/parallel"
)

// Refusal is a path that can't be committed, with the reason.
type Refusal struct{ Path, Reason string }

// NestedRepository is the reason of a Refusal for a repository in a working tree that is no submodule. If it
// is new and small, its files are among the changes nevertheless, so that a patch has them.
const NestedRepository = "nested git repository"

// found is a path that a walk met: a file, a link, or the directory of a submodule.
type found struct {
	path    string
	state   store.State
	hashed  bool               // state is complete
	tracked bool               // in the index or in the snapshot
	entry   *gitdir.IndexEntry // the path's only entry in the index, or nil
	stat    gitdir.Stat
}

// walk looks at a work tree once: all files but untracked ignored ones, each
// with the id of its content. The index serves as a cache, so that only
// files with a new time, size or place are read.
type walk struct {
	reader *Reader
	tree   *content.Tree
	index  *gitdir.Index

	known   map[string]store.State // paths that count as tracked beside those of the index
	below   string                 // the directory that it is limited to; "" for the root
	lazy    bool                   // leave untracked files unread
	largest int64                  // leave larger files that are new or have another size unread, in bytes; 0: read all
	keep    func(plumbing.Hash, []byte)
	// leftOut is called concurrently for each file and directory that is not listed, with the
	// directory that it is in, which is nil for a directory. It may be nil.
	leftOut func(in *os.File, path string, isDir bool)
	// enters reports whether the files of a nested repository are listed although it is refused; nil: no.
	enters func(path string) bool

	knownParents func() map[string]bool // directories that known paths are in
	met          []presence             // by entry of the index
	lists        sync.Pool              // of *dirent.List

	mu      sync.Mutex
	files   []found   // those that are not unchanged
	refused []Refusal // nested repositories that are no submodules, and names that git refuses
}

func (r *Reader) newWalk(tree *content.Tree, idx *gitdir.Index, known map[string]store.State) *walk {
	return &walk{
		reader: r, tree: tree, index: idx, known: known, met: make([]presence, len(idx.Entries)),
		knownParents: sync.OnceValue(func() map[string]bool { return parentsOf(known) }),
		lists:        sync.Pool{New: func() any { return new(dirent.List) }},
	}
}

// directory is one directory of a walk.
type directory struct {
	path    string // "" for the root
	tracked span   // what the index has in it
	rules   *ignore.Matcher
	ignored bool // only tracked files count in it
}

// start returns where the names of its entries start in their paths.
func (d *directory) start() int {
	if d.path == "" {
		return 0
	}
	return len(d.path) + 1
}

// child is an entry of a directory.
type child struct {
	name string
	kind dirent.Kind
}

// run lists the files and then reads those that the index does not vouch for.
func (w *walk) run(ctx context.Context, rules *ignore.Matcher) error {
	if err := w.list(ctx, rules); err != nil {
		return err
	}
	return w.hash(ctx)
}

// list walks one level of directories after the other.
func (w *walk) list(ctx context.Context, rules *ignore.Matcher) error {
	for level := []directory{{tracked: span{0, len(w.index.Entries)}, rules: rules}}; len(level) > 0; {
		var next []directory
		err := parallel.Each(ctx, level, func(f directory) error {
			below, err := w.visit(f)
			w.mu.Lock()
			defer w.mu.Unlock()
			next = append(next, below...)
			return err
		})
		if err != nil {
			return fmt.Errorf("walk %s: %w", w.reader.Git.Root, err)
		}
		level = next
	}
	return nil
}

// visit adds the files of a directory, and returns the directories in it.
func (w *walk) visit(d directory) ([]directory, error) {
	full := filepath.Join(w.reader.Git.Root, filepath.FromSlash(d.path))
	list := w.lists.Get().(*dirent.List) //nolint:forcetypeassert // nothing else is in the pool
	defer w.lists.Put(list)
	in, err := openDirectory(full, list)
	if in != nil {
		defer in.Close()
	}
	switch {
	case sharedfile.Absent(err):
		return nil, nil // removed since its name was read
	case errors.Is(err, fs.ErrPermission) && d.path != "" && !w.tracks(&d):
		return nil, nil // as git does with untracked directories
	case errors.Is(err, unix.ENAMETOOLONG):
		w.refuse(d.path, "path is too long")
		w.leaveOut(nil, d.path, true)
		return nil, nil
	case err != nil:
		return nil, err
	}
	if d.path != "" && contains(*list, ".git") && !w.tracks(&d) && isRepository(full) {
		w.refuse(d.path, NestedRepository)
		if w.enters == nil || !w.enters(d.path) {
			w.leaveOut(nil, d.path, true)
			return nil, nil
		}
	}
	if d, err = w.addRules(d, *list); err != nil {
		return nil, err
	}
	others, err := w.compare(in, &d, *list)
	if err != nil {
		return nil, err
	}
	var below []directory
	for _, c := range others {
		if below, err = w.other(in, &d, c, below); err != nil {
			return nil, err
		}
	}
	return below, nil
}

// compare compares the files of a directory that are tracked with the index, and returns all other
// entries, sorted, each once: the system may list a file that is replaced meanwhile twice.
func (w *walk) compare(in *os.File, d *directory, list dirent.List) ([]child, error) {
	var others []child
	var changed []found
	fd, start, at := int(in.Fd()), d.start(), d.tracked.from-1
	var st unix.Stat_t
	for e, rest, ok := list.Next(); ok; e, rest, ok = rest.Next() {
		if e.Kind == dirent.Unknown {
			if err := e.Lstat(fd, &st); sharedfile.Absent(err) {
				continue
			} else if err != nil {
				return nil, lstatFailed(in, e, err)
			}
			e.Kind = dirent.KindOf(uint32(st.Mode)) //nolint:unconvert // 16 bits on macOS
		}
		i, tracked := 0, false
		if e.Kind == dirent.File || e.Kind == dirent.Symlink {
			i, tracked = w.position(d, e.Name(), at)
		}
		if !tracked || !w.comparable(w.index.Entries[i].Path, start) {
			others = append(others, child{string(e.Name()), e.Kind})
			continue
		}
		if at = i; w.met[i] != absent {
			continue
		}
		if err := e.Lstat(fd, &st); sharedfile.Absent(err) {
			continue
		} else if err != nil {
			return nil, lstatFailed(in, e, err)
		}
		one, err := w.describe(w.index.Entries[i].Path, w.only(i), true, gitdir.FileOf(&st))
		if err != nil {
			return nil, err
		}
		if one.hashed && one.entry != nil && one.state == EntryState(one.entry) {
			w.meet(i, unchanged)
			continue
		}
		w.meet(i, listed)
		changed = append(changed, one)
	}
	w.add(changed...)
	slices.SortFunc(others, func(a, b child) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(others, func(a, b child) bool { return a.name == b.name }), nil
}

// comparable reports whether the path of an entry of the index is compared. Its name starts at an offset.
func (w *walk) comparable(path string, start int) bool {
	name := path[start:]
	return name != content.ReportDirectory && !content.Reserved(name) && IsBelow(path, w.below)
}

func lstatFailed(in *os.File, e dirent.Entry, err error) error {
	return &fs.PathError{Op: "lstat", Path: filepath.Join(in.Name(), string(e.Name())), Err: err}
}

// other adds an entry of a directory that is not a tracked file; a directory to the list of those
// that are still to be visited, which it returns.
func (w *walk) other(in *os.File, d *directory, c child, below []directory) ([]directory, error) {
	path := gitdir.JoinPath(d.path, c.name)
	isDir := c.kind == dirent.Dir
	if !IsBelow(path, w.below) && !(isDir && IsBelow(w.below+"/", path)) {
		return below, nil
	}
	switch {
	case c.name == content.ReportDirectory || content.Reserved(c.name):
		if w.unnamable(d, path, c) {
			w.refuse(path, "git refuses this name (core.protectNTFS, core.protectHFS)")
		}
		w.leaveOut(in, path, isDir)
	case isDir && w.addSubmodule(d, path, c.name):
		w.leaveOut(in, path, isDir)
	case isDir:
		inner := directory{path: path, tracked: w.narrow(d.tracked, path), rules: d.rules}
		if inner.ignored = d.ignored || d.rules.Ignored(path, true); !inner.ignored || w.tracks(&inner) {
			return append(below, inner), nil
		}
		w.leaveOut(in, path, isDir)
	case c.kind == dirent.File || c.kind == dirent.Symlink:
		one, ok, err := w.file(in, d, path)
		if err != nil {
			return nil, err
		}
		if ok {
			w.add(one)
		} else {
			w.leaveOut(in, path, isDir)
		}
	default:
		w.leaveOut(in, path, isDir)
	}
	return below, nil
}

func (w *walk) add(files ...found) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = append(w.files, files...)
}

// unnamable reports whether git would refuse to add an entry of a directory because of
// its name. It ignores empty directories.
func (w *walk) unnamable(d *directory, path string, c child) bool {
	isDir := c.kind == dirent.Dir
	if c.name == content.ReportDirectory || c.name == ".git" || d.ignored || d.rules.Ignored(path, isDir) {
		return false
	}
	if !isDir {
		return true
	}
	entries, err := os.ReadDir(filepath.Join(w.reader.Git.Root, filepath.FromSlash(path)))
	return err == nil && len(entries) > 0
}

// refuse records a path that can't be committed.
func (w *walk) refuse(path, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, Refusal{path, reason})
}

func (w *walk) leaveOut(in *os.File, path string, isDir bool) {
	if w.below != "" && IsBelow(w.below+"/", path) {
		path = w.below // in a directory that is left out, or the directory itself
	}
	if w.leftOut != nil {
		w.leftOut(in, path, isDir)
	}
}

// openDirectory opens a directory, and replaces a list by its entries. It returns the directory, to
// be closed, even if it can't be listed.
func openDirectory(name string, list *dirent.List) (*os.File, error) {
	*list = (*list)[:0]
	d, err := sharedfile.OpenDirectory(name)
	if err != nil {
		return nil, err
	}
	if *list, err = dirent.Append(*list, int(d.Fd())); err != nil {
		err = &fs.PathError{Op: "readdirent", Path: name, Err: err}
	}
	return d, err
}

// contains reports whether a list has a name.
func contains(list dirent.List, name string) bool {
	for e, rest, ok := list.Next(); ok; e, rest, ok = rest.Next() {
		if string(e.Name()) == name {
			return true
		}
	}
	return false
}

// isRepository reports whether a directory with a .git is the work tree of another repository.
func isRepository(full string) bool {
	dir, err := gitdir.Of(full)
	return err == nil && dir != ""
}

// addRules adds a directory's own ignore file to its rules.
func (w *walk) addRules(d directory, list dirent.List) (directory, error) {
	name := gitdir.JoinPath(d.path, ".gitignore")
	if _, skipped := w.tree.Skipped()[name]; d.ignored || !skipped && !contains(list, ".gitignore") {
		return d, nil
	}
	data, err := w.tree.RuleFile(name)
	if err != nil {
		return d, err
	}
	d.rules = d.rules.Descend(d.path, data)
	return d, nil
}

// addSubmodule adds the state of a submodule, which is the one recorded before: what happens inside
// is not looked at. It reports whether the path is one.
func (w *walk) addSubmodule(d *directory, path, name string) bool {
	s := w.known[path]
	i, tracked := w.position(d, []byte(name), d.tracked.from-1)
	var e *gitdir.IndexEntry
	if tracked {
		e = w.only(i)
	}
	switch {
	case s.Mode == filemode.Submodule:
	case e != nil && e.Mode == filemode.Submodule:
		s = store.State{Mode: filemode.Submodule, Hash: e.Hash}
	default:
		return false
	}
	if tracked {
		w.meet(i, listed)
	}
	w.add(found{path: path, state: s, hashed: true, tracked: true, entry: e})
	return true
}

// file returns a file or symlink of an open directory that is not in the index, unless it is ignored
// or gone.
func (w *walk) file(in *os.File, d *directory, path string) (found, bool, error) {
	_, tracked := w.known[path]
	if !tracked && (d.ignored || d.rules.Ignored(path, false)) {
		return found{}, false, nil
	}
	info, err := gitdir.LstatIn(in, filepath.Base(path))
	if sharedfile.Absent(err) {
		return found{}, false, nil
	}
	if err != nil {
		return found{}, false, err
	}
	one, err := w.describe(path, nil, tracked, info)
	return one, true, err
}

// describe returns a file. e is its entry in the index, or nil.
func (w *walk) describe(path string, e *gitdir.IndexEntry, tracked bool, info gitdir.File) (found, error) {
	var err error
	one := found{path: path, tracked: tracked, entry: e, stat: info.Stat}
	one.state.Mode = w.mode(path, e, info)
	if e != nil && e.Mode == one.state.Mode {
		current := w.index.Current(e, &one.stat, w.reader.Git.Settings.TrustCtime)
		if !current && w.lazy && e.Same(&one.stat, w.reader.Git.Settings.TrustCtime) {
			current, err = w.filtered(path) // without its filter, content can't be compared
		}
		if current {
			one.state.Hash, one.hashed = e.Hash, true
		}
	}
	if !one.hashed && w.largest > 0 && info.Size > w.largest {
		one.hashed = !tracked || w.resized(&one, info.Size) // it is refused for its size, whatever it holds
	}
	return one, err
}

// resized reports whether a tracked file has another size than its stored content, so
// that it was changed for sure.
func (w *walk) resized(f *found, size int64) bool {
	c, err := w.tree.Conversion(f.path)
	if err != nil || !c.None() {
		return false
	}
	stored, err := w.reader.Git.Objects.Size(w.stored(f))
	return err == nil && stored != size
}

// filtered reports whether a path has a filter.
func (w *walk) filtered(path string) (bool, error) {
	a, err := w.tree.Attributes(path)
	return content.FilterOf(a) != "", err
}

// mode returns the mode that git would store, which is the old one where the
// file system can't tell. e is the entry of the path, or nil.
func (w *walk) mode(path string, e *gitdir.IndexEntry, info gitdir.File) filemode.FileMode {
	settings := w.reader.Git.Settings
	switch {
	case info.Symlink():
		return filemode.Symlink
	case settings.Symlinks && settings.FileMode:
	case !settings.Symlinks && w.before(path, e) == filemode.Symlink:
		return filemode.Symlink
	case !settings.FileMode && w.before(path, e) == filemode.Executable:
		return filemode.Executable
	}
	if settings.FileMode && info.Executable() {
		return filemode.Executable
	}
	return filemode.Regular
}

// before returns the mode of a path in the snapshot, or else in the index.
func (w *walk) before(path string, e *gitdir.IndexEntry) filemode.FileMode {
	mode := w.known[path].Mode
	if e != nil && mode == 0 {
		mode = e.Mode
	}
	return mode
}

// hash reads the files that the index does not vouch for.
func (w *walk) hash(ctx context.Context) error {
	var unread []*found
	for i := range w.files {
		if f := &w.files[i]; !f.hashed && (f.tracked || !w.lazy) {
			unread = append(unread, f)
		}
	}
	return parallel.Each(ctx, unread, func(f *found) error {
		err := w.read(f)
		if errors.Is(err, fs.ErrPermission) {
			return nil // its id stays zero
		}
		return err
	})
}

func (w *walk) read(f *found) error {
	conversion, err := w.tree.Conversion(f.path)
	if err != nil {
		return err
	}
	hashes := w.reader.hashes
	if conversion.None() && w.recall(hashes, f) {
		return nil
	}
	c, err := w.tree.Read(f.path, f.state.Mode, w.stored(f))
	if err != nil {
		return err
	}
	defer c.Close()
	f.state.Hash, err = c.Hash()
	f.hashed = err == nil
	if f.hashed && conversion.None() {
		hashes.add(f.path, c.Stat, f.state.Hash, w.reader.Git.Env.Now)
	}
	if w.keep != nil && c.Large == nil && (f.entry == nil || f.entry.Hash != f.state.Hash) {
		w.keep(f.state.Hash, c.Data)
	}
	return err
}

// recall takes the hash of a file from an earlier walk, unless its content is wanted.
func (w *walk) recall(hashes *hashes, f *found) bool {
	hash, ok := hashes.of(f.path, f.stat)
	if !ok || w.keep != nil && (f.entry == nil || f.entry.Hash != hash) {
		return false
	}
	f.state.Hash, f.hashed = hash, true
	return true
}

// stored returns what git has for a path: in the index, else in the snapshot.
func (w *walk) stored(f *found) plumbing.Hash {
	if f.entry != nil {
		return f.entry.Hash
	}
	return w.known[f.path].Hash
}
