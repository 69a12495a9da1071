package lsp

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"
)

// maxWatched is how many files of a workspace are watched. In a larger one servers learn of edited
// files only.
const maxWatched = 20_000

// watch finds the files of a workspace that were changed, by whatever: servers don't watch files
// themselves. Its methods may be called concurrently.
type watch struct {
	root *os.Root

	mu    sync.Mutex
	files map[string]version // by absolute path; nil before the first look
	off   bool               // there are too many
}

// version identifies a version of a file.
type version struct {
	size int64
	time time.Time
}

// newWatch watches a workspace, which its owner closes.
func newWatch(root *os.Root) *watch { return &watch{root: root} }

// Changes returns the files that were changed since the last call; none the first time.
func (w *watch) Changes() map[string]ChangeKind {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.off {
		return nil
	}
	now := w.list()
	if w.off = len(now) > maxWatched; w.off {
		w.files = nil
		return nil
	}
	changes := map[string]ChangeKind{}
	for name, v := range now {
		if old, known := w.files[name]; !known {
			changes[name] = Created
		} else if old != v {
			changes[name] = Changed
		}
	}
	for name := range w.files {
		if _, there := now[name]; !there {
			changes[name] = Deleted
		}
	}
	first := w.files == nil
	w.files = now
	if first {
		return nil
	}
	return changes
}

// list returns the regular files, at most maxWatched+1. Directories of packages and of git are
// left out.
func (w *watch) list() map[string]version {
	all := map[string]version{}
	fs.WalkDir(w.root.FS(), ".", func(name string, d fs.DirEntry, err error) error { //nolint:errcheck // the function returns only fs.SkipDir and fs.SkipAll
		switch {
		case len(all) > maxWatched:
			return fs.SkipAll
		case err != nil:
			return nil //nolint:nilerr // it was removed, or is unreadable for servers, too
		case d.IsDir() && unwatched(path.Base(name)):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err == nil {
			all[filepath.Join(w.root.Name(), filepath.FromSlash(name))] = version{info.Size(), info.ModTime()}
		}
		return nil
	})
	return all
}

// unwatched reports whether the files of a directory are not watched, by its name.
func unwatched(name string) bool {
	switch name {
	case ".git", ".millhand", "node_modules", "__pycache__", ".venv":
		return true
	}
	return false
}
