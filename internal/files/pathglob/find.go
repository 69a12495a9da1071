package pathglob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Search is how the matches of a pattern are searched for in the file system. As in a shell, **
// does not follow symlinks.
type Search struct {
	Dir    string // where relative patterns start
	Files  bool   // search for what is not a directory; otherwise for directories
	Hidden bool   // * and ** also match names that start with a dot
	Follow bool   // other wildcards than ** follow symlinks to directories
	Limit  int    // of files and directories that are visited
}

// TooManyFiles is the error of a search that exceeds its limit.
type TooManyFiles struct{ Limit int }

func (e TooManyFiles) Error() string {
	return fmt.Sprintf("matches more than %d files and directories", e.Limit)
}

var errSlash = errors.New("brackets contain a slash")

// Find returns what the pattern matches in the file system, each path once and sorted, as the
// pattern spells it, with slashes. What can't be read is empty. The error is a [TooManyFiles],
// that of brackets with a slash, or the cause of the context's end.
func (p Pattern) Find(ctx context.Context, s Search) ([]string, error) {
	w := &walk{Search: s, seen: map[step]bool{}, found: map[string]bool{}}
	for _, text := range p.alternatives() {
		elements := strings.Split(strings.Trim(text, "/"), "/")
		if slices.ContainsFunc(elements, func(e string) bool { return !doublestar.ValidatePattern(e) }) {
			return nil, errSlash
		}
		start := ""
		if path.IsAbs(text) {
			start = "/"
		}
		elements = strings.Split(strings.Trim(path.Clean(text), "/"), "/")
		elements = slices.CompactFunc(elements, func(a, b string) bool { return a == "**" && b == "**" })
		clear(w.seen) // steps count elements of one pattern
		w.match(ctx, start, elements)
	}
	if w.err != nil {
		return nil, w.err
	}
	return slices.Sorted(maps.Keys(w.found)), nil
}

// walk is a search while it runs.
type walk struct {
	Search
	visited int
	err     error // why it stopped
	seen    map[step]bool
	found   map[string]bool
}

// step is a directory with the number of the pattern's elements that are left to
// match below it.
type step struct {
	path string
	left int
}

// stopped counts a visit, and reports whether the search has to stop.
func (w *walk) stopped(ctx context.Context) bool {
	w.visited++
	switch {
	case w.err != nil:
	case w.visited > w.Limit:
		w.err = TooManyFiles{w.Limit}
	case ctx.Err() != nil:
		w.err = context.Cause(ctx)
	}
	return w.err != nil
}

// match continues in a directory with what is left of the pattern.
func (w *walk) match(ctx context.Context, at string, elements []string) {
	here := step{at, len(elements)}
	if w.stopped(ctx) || w.seen[here] {
		return
	}
	w.seen[here] = true
	if len(elements) == 0 {
		if info, err := os.Stat(w.resolve(at)); err == nil && info.IsDir() != w.Files {
			w.found[cmp.Or(at, ".")] = true
		}
		return
	}
	first, rest := elements[0], elements[1:]
	switch {
	case first == "**":
		if len(rest) > 0 || !w.Files {
			w.match(ctx, at, rest)
		}
		w.each(ctx, at, func(name string, dir, symlink bool) {
			switch {
			case w.isHidden(name):
			case dir && !symlink:
				w.match(ctx, joined(at, name), elements)
			case !dir && len(rest) == 0 && w.Files:
				w.found[joined(at, name)] = true
			}
		})
	case strings.ContainsAny(first, `*?[\`):
		w.each(ctx, at, func(name string, dir, symlink bool) {
			switch {
			case w.isHidden(name) && !strings.HasPrefix(first, "."), !doublestar.MatchUnvalidated(first, name):
			case dir && symlink && !w.Follow:
			case dir:
				w.match(ctx, joined(at, name), rest)
			case len(rest) == 0 && w.Files:
				w.found[joined(at, name)] = true
			}
		})
	default:
		w.match(ctx, joined(at, first), rest)
	}
}

func (w *walk) isHidden(name string) bool { return !w.Hidden && strings.HasPrefix(name, ".") }

// resolve returns the path of the file system.
func (w *walk) resolve(at string) string {
	if path.IsAbs(at) {
		return filepath.FromSlash(at)
	}
	return filepath.Join(w.Dir, filepath.FromSlash(at))
}

func joined(at, name string) string {
	if at == "" || strings.HasSuffix(at, "/") {
		return at + name
	}
	return at + "/" + name
}

// each calls do for the entries of a directory; a symlink to a directory is one. A directory
// that can't be read has none.
func (w *walk) each(ctx context.Context, at string, do func(name string, dir, symlink bool)) {
	dir := w.resolve(at)
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if w.stopped(ctx) {
			return
		}
		symlink := entry.Type()&fs.ModeSymlink != 0
		isDir := entry.IsDir()
		if symlink {
			info, err := os.Stat(filepath.Join(dir, entry.Name()))
			isDir = err == nil && info.IsDir()
		}
		do(entry.Name(), isDir, symlink)
	}
}
