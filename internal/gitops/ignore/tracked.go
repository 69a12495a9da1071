package ignore

import (
	"sort"
	"strings"
)

// Tracked is a set of paths that git tracks, which no rule excludes. It is immutable; the
// zero value is empty.
type Tracked struct {
	paths []string
	below string // prefix of the paths that it is asked for
}

// NewTracked returns the set of paths that are sorted, slash separated and relative to the root.
func NewTracked(paths []string) Tracked { return Tracked{paths: paths} }

// Within returns the set for a directory of the tree seen as a tree of its own, like
// [Matcher.Within].
func (t Tracked) Within(dir string) Tracked {
	if dir != "" && dir != "." {
		t.below += dir + "/"
	}
	return t
}

// Has reports whether a path is tracked: a file, a symlink or a submodule.
func (t Tracked) Has(path string) bool {
	path = t.below + path
	i := sort.SearchStrings(t.paths, path)
	return i < len(t.paths) && t.paths[i] == path
}

// Below reports whether a tracked path is below a directory.
func (t Tracked) Below(dir string) bool {
	dir = t.below + strings.TrimSuffix(dir, "/") + "/"
	i := sort.SearchStrings(t.paths, dir)
	return i < len(t.paths) && strings.HasPrefix(t.paths[i], dir)
}
