package changes

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/gitops/state"
)

// artifacts recognizes the build artifacts in a working tree: untracked files that programs left.
type artifacts struct {
	of        ecosystem.Artifacts
	committed *state.Snapshot
	paths     []string // of committed, sorted; nil until they are needed
}

// NewArtifacts recognizes them in the tree of a root directory, in which a snapshot is tracked.
func NewArtifacts(root string, committed *state.Snapshot) *artifacts {
	names := map[string][]string{} // of the files in directories
	has := func(dir, pattern string) bool {
		list, ok := names[dir]
		if !ok {
			entries, _ := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir))) // has no files then
			for _, e := range entries {
				list = append(list, e.Name())
			}
			names[dir] = list
		}
		return slices.ContainsFunc(list, func(name string) bool {
			ok, err := path.Match(pattern, name)
			return err == nil && ok
		})
	}
	return &artifacts{of: ecosystem.Artifacts{Has: has}, committed: committed}
}

// dir returns the directory of artifacts that a path is in, with a slash; "" for none. A directory of
// which files are tracked has none.
func (a *artifacts) dir(file string) string {
	if found := a.of.Find(file); strings.HasSuffix(found, "/") && !a.tracked(found) {
		return found
	}
	return ""
}

// Is reports whether a file is an artifact.
func (a *artifacts) Is(file string) bool {
	found := a.of.Find(file)
	return found != "" && !a.tracked(found)
}

// tracked reports whether a file, or a file in a directory that ends with a slash, is tracked.
func (a *artifacts) tracked(name string) bool {
	if a.paths == nil {
		a.paths = a.committed.Paths()
	}
	i := sort.SearchStrings(a.paths, name)
	return i < len(a.paths) && (a.paths[i] == name || strings.HasSuffix(name, "/") && strings.HasPrefix(a.paths[i], name))
}
