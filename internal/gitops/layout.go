package gitops

import (
	"os"
	"slices"
	"strings"
)

// InRepository reports whether git uses an entry with this name of a git directory.
func InRepository(name string) bool {
	return slices.ContainsFunc([]string{"HEAD", "config", "config.worktree", "commondir", "objects", "refs", "hooks", "info"}, func(known string) bool {
		return strings.EqualFold(name, known)
	})
}

// IsRepository reports whether git would use a directory as a repository when it is run there: it has the layout of a git
// directory, on a file system that ignores case, too.
func IsRepository(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
	}
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}
