package gitops

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

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/ignore"
)

// state is what a tree holds at a path.
type state struct {
	mode filemode.FileMode
	hash plumbing.Hash // zero for a file that can't be read
}

// found is a path that a walk met: a file, a link, or the directory of a submodule.
type found struct {
	path    string
	state   state
	hashed  bool               // state is complete
	tracked bool               // in the index or in the snapshot
	entry   *gitdir.IndexEntry // the path's only entry in the index, or nil
	stat    gitdir.Stat
}

// walk looks at a work tree once: all files but untracked ignored ones, each
// with the id of its content. The index serves as a cache, so that only
// files with a new time, size or place are read.
type walk struct {
	tree  *workTree
	index *gitdir.Index

	entries map[string]*gitdir.IndexEntry // nil for a path with conflicts
	known   map[string]state              // paths that count as tracked beside those of the index
	parents map[string]bool               // directories that tracked paths are in
	below   string                        // the directory that it is limited to; "" for the root
	lazy    bool                          // leave untracked files unread
	largest int64                         // leave larger files that are new or have another size unread, in bytes; 0: read all
	keep    func(plumbing.Hash, []byte)
	// leftOut is called concurrently for each file and directory that is not listed, with the
	// directory that it is in, which is nil for a directory. It may be nil.
	leftOut func(in *os.File, path string, e fs.DirEntry)

	mu      sync.Mutex
	files   []found
	refused []Refusal // nested repositories that are no submodules, and names that git refuses
}

func newWalk(tree *workTree, idx *gitdir.Index, known map[string]state) *walk {
	w := &walk{
		tree: tree, index: idx, known: known,
		entries: make(map[string]*gitdir.IndexEntry, len(idx.Entries)),
		parents: map[string]bool{},
		files:   make([]found, 0, len(idx.Entries)),
	}
	in := "" // the directory of the entry before, which has the same one nearly always
	for i := range idx.Entries {
		e := &idx.Entries[i]
		path, paths := e.Path, len(w.entries)
		if w.entries[path] = e; e.Stage() != 0 || len(w.entries) == paths {
			w.entries[path] = nil
		}
		if dir := path[:max(0, strings.LastIndexByte(path, '/'))]; dir != in {
			w.addParents(path)
			in = dir
		}
	}
	for path := range known {
		w.addParents(path)
	}
	return w
}

func (w *walk) addParents(path string) {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] != '/' {
			continue
		}
		if w.parents[path[:i]] {
			return
		}
		w.parents[path[:i]] = true
	}
}

// directory is one directory of a walk.
type directory struct {
	path    string      // "" for the root
	entry   fs.DirEntry // nil for the root
	rules   *ignore.Matcher
	ignored bool // only tracked files count in it
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
	for level := []directory{{rules: rules}}; len(level) > 0; {
		var next []directory
		err := inParallel(ctx, level, func(f directory) error {
			below, err := w.visit(f)
			w.mu.Lock()
			defer w.mu.Unlock()
			next = append(next, below...)
			return err
		})
		if err != nil {
			return fmt.Errorf("walk %s: %w", w.tree.repo.Git.Root, err)
		}
		level = next
	}
	return nil
}

// visit adds the files of a directory, and returns the directories in it.
func (w *walk) visit(f directory) ([]directory, error) {
	full := filepath.Join(w.tree.repo.Git.Root, filepath.FromSlash(f.path))
	in, entries, err := openDirectory(full)
	if in != nil {
		defer in.Close()
	}
	switch {
	case gitdir.Absent(err):
		return nil, nil // removed since its name was read
	case errors.Is(err, fs.ErrPermission) && f.path != "" && !w.parents[f.path]:
		return nil, nil // as git does with untracked directories
	case err != nil:
		return nil, err
	}
	if f.path != "" && !w.parents[f.path] && holdsRepository(full, entries) {
		w.refuse(f.path, "nested git repository")
		w.leaveOut(nil, f.path, f.entry)
		return nil, nil
	}
	if f, err = w.addRules(f, entries); err != nil {
		return nil, err
	}
	var below []directory
	for _, e := range entries {
		path := gitdir.JoinPath(f.path, e.Name())
		if !IsBelow(path, w.below) && !(e.IsDir() && IsBelow(w.below+"/", path)) {
			continue
		}
		switch {
		case e.Name() == ownDirectory || reserved(e.Name()):
			if w.unnamable(f, path, e) {
				w.refuse(path, "git refuses this name (core.protectNTFS, core.protectHFS)")
			}
			w.leaveOut(in, path, e)
		case e.IsDir() && w.isSubmodule(path):
			w.add(w.submodule(path))
			w.leaveOut(in, path, e)
		case e.IsDir():
			ignored := f.ignored || f.rules.Ignored(path, true)
			if !ignored || w.parents[path] {
				below = append(below, directory{path: path, entry: e, rules: f.rules, ignored: ignored})
			} else {
				w.leaveOut(in, path, e)
			}
		case e.Type() == 0 || e.Type() == fs.ModeSymlink:
			one, ok, err := w.file(in, f, path)
			if err != nil {
				return nil, err
			}
			if ok {
				w.add(one)
			} else {
				w.leaveOut(in, path, e)
			}
		default:
			w.leaveOut(in, path, e)
		}
	}
	return below, nil
}

func (w *walk) add(f found) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = append(w.files, f)
}

// unnamable reports whether git would refuse to add an entry of a directory because of
// its name. It ignores empty directories.
func (w *walk) unnamable(f directory, path string, e fs.DirEntry) bool {
	if e.Name() == ownDirectory || e.Name() == ".git" || f.ignored || f.rules.Ignored(path, e.IsDir()) {
		return false
	}
	if !e.IsDir() {
		return true
	}
	entries, err := os.ReadDir(filepath.Join(w.tree.repo.Git.Root, filepath.FromSlash(path)))
	return err == nil && len(entries) > 0
}

// refuse records a path that can't be committed.
func (w *walk) refuse(path, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, Refusal{path, reason})
}

func (w *walk) leaveOut(in *os.File, path string, e fs.DirEntry) {
	if w.below != "" && IsBelow(w.below+"/", path) {
		path = w.below // in a directory that is left out, or the directory itself
	}
	if w.leftOut != nil {
		w.leftOut(in, path, e)
	}
}

// openDirectory opens and lists a directory. It returns the directory, to be closed, even if it
// can't be listed. The system may list a file that is renamed meanwhile twice.
func openDirectory(name string) (*os.File, []fs.DirEntry, error) {
	d, err := gitdir.OpenDirectory(name)
	if err != nil {
		return nil, nil, err
	}
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return d, slices.CompactFunc(entries, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() }), err
}

// holdsRepository reports whether a directory is the work tree of another repository.
func holdsRepository(full string, entries []fs.DirEntry) bool {
	for _, e := range entries {
		if e.Name() == ".git" {
			dir, err := gitdir.Of(full)
			return err == nil && dir != ""
		}
	}
	return false
}

// addRules adds a directory's own ignore file to its rules.
func (w *walk) addRules(f directory, entries []fs.DirEntry) (directory, error) {
	if f.ignored {
		return f, nil
	}
	for _, e := range entries {
		if e.Name() != ".gitignore" || e.Type() != 0 {
			continue
		}
		data, err := w.tree.ruleFile(gitdir.JoinPath(f.path, e.Name()))
		if err != nil {
			return f, err
		}
		f.rules = f.rules.Descend(f.path, data)
	}
	return f, nil
}

func (w *walk) isSubmodule(path string) bool {
	if e := w.entries[path]; e != nil && e.Mode == filemode.Submodule {
		return true
	}
	return w.known[path].mode == filemode.Submodule
}

// submodule returns the state of a submodule, which is the one recorded before:
// what happens inside is not looked at.
func (w *walk) submodule(path string) found {
	s, ok := w.known[path]
	if !ok || s.mode != filemode.Submodule {
		s = state{mode: filemode.Submodule, hash: w.entries[path].Hash}
	}
	return found{path: path, state: s, hashed: true, tracked: true, entry: w.entries[path]}
}

// file returns a file or symlink of an open directory unless it is ignored or gone.
func (w *walk) file(in *os.File, f directory, path string) (found, bool, error) {
	e, tracked := w.entries[path]
	if !tracked {
		_, tracked = w.known[path]
	}
	if !tracked && (f.ignored || f.rules.Ignored(path, false)) {
		return found{}, false, nil
	}
	info, err := gitdir.LstatIn(in, filepath.Base(path))
	if gitdir.Absent(err) {
		return found{}, false, nil
	}
	if err != nil {
		return found{}, false, err
	}
	one := found{path: path, tracked: tracked, entry: e, stat: info.Stat}
	one.state.mode = w.mode(path, e, info)
	if e != nil && e.Mode == one.state.mode {
		current := w.index.Current(e, &one.stat, w.tree.repo.Git.Settings.TrustCtime)
		if !current && w.lazy && e.Same(&one.stat, w.tree.repo.Git.Settings.TrustCtime) {
			current, err = w.filtered(path) // without its filter, content can't be compared
		}
		if current {
			one.state.hash, one.hashed = e.Hash, true
		}
	}
	if !one.hashed && w.largest > 0 && info.Size > w.largest {
		one.hashed = !tracked || w.resized(&one, info.Size) // it is refused for its size, whatever it holds
	}
	return one, true, err
}

// resized reports whether a tracked file has another size than its stored content, so
// that it was changed for sure.
func (w *walk) resized(f *found, size int64) bool {
	c, err := w.tree.conversionOf(f.path)
	if err != nil || !c.none() {
		return false
	}
	stored, err := w.tree.repo.Git.Objects.Size(w.stored(f))
	return err == nil && stored != size
}

// filtered reports whether a path has a filter.
func (w *walk) filtered(path string) (bool, error) {
	a, err := w.tree.attributes(path)
	return filterOf(a) != "", err
}

// mode returns the mode that git would store, which is the old one where the
// file system can't tell. e is the entry of the path, or nil.
func (w *walk) mode(path string, e *gitdir.IndexEntry, info gitdir.File) filemode.FileMode {
	settings := w.tree.repo.Git.Settings
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
	mode := w.known[path].mode
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
	return inParallel(ctx, unread, func(f *found) error {
		err := w.read(f)
		if errors.Is(err, fs.ErrPermission) {
			return nil // its id stays zero
		}
		return err
	})
}

func (w *walk) read(f *found) error {
	conversion, err := w.tree.conversionOf(f.path)
	if err != nil {
		return err
	}
	hashes := w.tree.repo.hashes
	if conversion.none() && w.recall(hashes, f) {
		return nil
	}
	c, err := w.tree.content(f.path, f.state.mode, w.stored(f))
	if err != nil {
		return err
	}
	defer c.close()
	f.state.hash, err = c.hash()
	f.hashed = err == nil
	if f.hashed && conversion.none() {
		hashes.add(f.path, c.stat, f.state.hash, w.tree.repo.Git.Env.Now)
	}
	if w.keep != nil && c.file == nil && (f.entry == nil || f.entry.Hash != f.state.hash) {
		w.keep(f.state.hash, c.data)
	}
	return err
}

// recall takes the hash of a file from an earlier walk, unless its content is wanted.
func (w *walk) recall(hashes *hashes, f *found) bool {
	hash, ok := hashes.of(f.path, f.stat)
	if !ok || w.keep != nil && (f.entry == nil || f.entry.Hash != hash) {
		return false
	}
	f.state.hash, f.hashed = hash, true
	return true
}

// stored returns what git has for a path: in the index, else in the snapshot.
func (w *walk) stored(f *found) plumbing.Hash {
	if f.entry != nil {
		return f.entry.Hash
	}
	return w.known[f.path].hash
}
