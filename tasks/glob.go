package tasks

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxLooked limits how many files and directories one glob visits.
const maxLooked = 100_000

// globbed returns the repositories among the directories that a pattern matches,
// in the order of their paths; if there are none, and the pattern has no **, the
// directories that are in a repository. Each is named once, by whatever symlinks it
// can be reached.
func (e repoEntry) globbed() ([]repo, bool) {
	pattern := filepath.ToSlash(e.target.s)
	elements := strings.Split(strings.Trim(pattern, "/"), "/")
	if slices.ContainsFunc(elements, func(s string) bool { return !doublestar.ValidatePattern(s) }) {
		e.target.problem("invalid pattern "+quote(e.target.s), "close its brackets, and write no / in them")
		return nil, false
	}
	if e.target.outside(patternBase(resolvePath(e.src.dir, pattern)), pattern) {
		return nil, false
	}
	start := ""
	if strings.HasPrefix(pattern, "/") {
		start = "/"
	}
	w := &dirWalk{dir: e.src.dir, seen: map[step]bool{}}
	w.match(start, slices.CompactFunc(elements, func(a, b string) bool { return a == "**" && b == "**" }))
	if w.looked > maxLooked {
		e.target.problem(fmt.Sprintf("pattern %s matches more than %d files and directories", quote(e.target.s), maxLooked), "start it with a directory, or use fewer **")
		return nil, false
	}
	if len(w.found) == 0 && !slices.Contains(elements, "**") {
		w.found = w.inside
	}
	return e.pickFound(w.found)
}

// pickFound makes repositories of the directories that were found.
func (e repoEntry) pickFound(found []string) ([]repo, bool) {
	slices.Sort(found)
	var all []repo
	seen := map[string]bool{}
	for _, dir := range found {
		r, picked, ok := e.one(Repo{Kind: RepoPath, Dir: dir, Ref: e.ref}, e.target.value)
		if !ok {
			return nil, false
		}
		if picked && !seen[r.id] {
			seen[r.id] = true
			all = append(all, r)
		}
	}
	switch {
	case len(found) == 0:
		e.target.problem(fmt.Sprintf("no git repository matches %s", quote(e.target.s)), "check the pattern; it is relative to the manifest")
	case len(all) == 0:
		e.target.problem(fmt.Sprintf("no repository of %s is left after include and exclude", quote(e.target.s)), "compare their patterns with the directories")
	}
	return all, len(all) > 0
}

// dirWalk looks for repositories. As in a shell, * and ** match no name that
// starts with a dot, and ** does not follow symlinks.
type dirWalk struct {
	dir    string // where relative paths start
	looked int
	seen   map[step]bool
	found  []string // as the pattern spells them
	inside []string // directories in a repository, likewise
}

// step is a directory with the number of the pattern's elements that are left to
// match below it.
type step struct {
	path string
	left int
}

// match goes on from a directory with what is left of the pattern.
func (w *dirWalk) match(path string, elements []string) {
	at := step{path, len(elements)}
	w.looked++
	if w.seen[at] || w.looked > maxLooked {
		return
	}
	w.seen[at] = true
	if len(elements) == 0 {
		path = cmp.Or(path, ".")
		switch dir := resolvePath(w.dir, path); {
		case holdsRepository(dir):
			w.found = append(w.found, path)
		case isDir(dir) && insideRepository(dir):
			w.inside = append(w.inside, path)
		}
		return
	}
	first, rest := elements[0], elements[1:]
	switch {
	case first == "**":
		w.match(path, rest)
		w.each(path, func(name string, symlink bool) {
			if !symlink && !strings.HasPrefix(name, ".") {
				w.match(joined(path, name), elements)
			}
		})
	case strings.ContainsAny(first, `*?[{\`):
		w.each(path, func(name string, _ bool) {
			hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(first, ".")
			if !hidden && doublestar.MatchUnvalidated(first, name) {
				w.match(joined(path, name), rest)
			}
		})
	default:
		w.match(joined(path, first), rest)
	}
}

func joined(path, name string) string {
	if path == "" || strings.HasSuffix(path, "/") {
		return path + name
	}
	return path + "/" + name
}

// each calls do for the directories, and the links to directories, in a directory. One
// that cannot be read has none.
func (w *dirWalk) each(path string, do func(name string, symlink bool)) {
	dir := resolvePath(w.dir, cmp.Or(path, "."))
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		w.looked++
		if w.looked > maxLooked {
			return
		}
		symlink := entry.Type()&os.ModeSymlink != 0
		if entry.IsDir() || symlink && isDir(filepath.Join(dir, entry.Name())) {
			do(entry.Name(), symlink)
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// insideRepository reports whether a directory is in a work tree, and not in git's
// own directory there.
func insideRepository(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || slices.Contains(strings.Split(real, string(filepath.Separator)), ".git") {
		return false
	}
	return topOf(real) != ""
}

// holdsRepository reports whether a directory is the top of a work tree: it has a
// directory .git, or a file of that name.
func holdsRepository(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ".git"))
	return err == nil && (info.IsDir() || info.Mode().IsRegular())
}
