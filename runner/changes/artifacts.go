package changes

import (
	"os"
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
	return &artifacts{of: ecosystem.Artifacts{Workspace: os.DirFS(root)}, committed: committed}
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
