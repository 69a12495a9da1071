package confinement

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/files/pathtree"
	"github.com/millhand/millhand/internal/sandbox"
)

// nested are the repositories in a workspace that is the user's own tree: submodules, and
// repositories that git doesn't know. A later git command of the user reads their settings
// and runs their hooks, even one that runs in the repository around them.
type nested struct {
	locked []string // absolute paths of git directories and pointer files, for level A
	names  []string // of the files to compare after each command, relative to the workspace
}

// findNested searches a workspace. The directories in skip are left out, and so is the
// workspace's own .git. Submodules are those of the index, some without a .git so far.
func findNested(workspace string, skip, submodules []string) nested {
	var n nested
	for _, dir := range submodules {
		name := filepath.Join(dir, ".git")
		if _, err := os.Lstat(filepath.Join(workspace, name)); err != nil {
			n.names = append(n.names, filepath.ToSlash(name))
		}
	}
	filepath.WalkDir(workspace, func(at string, d fs.DirEntry, err error) error { //nolint:errcheck // it returns none
		switch {
		case err != nil && d != nil && d.IsDir():
			return filepath.SkipDir // unreadable for commands, too
		case err != nil || slices.Contains(skip, at):
			return skipped(d)
		case d.Name() != ".git" || at == workspace:
			return nil
		case filepath.Dir(at) != workspace:
			n.add(workspace, at, d)
		}
		return skipped(d)
	})
	slices.Sort(n.names)
	n.names = slices.Compact(n.names)
	return n
}

func skipped(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return filepath.SkipDir
	}
	return nil
}

// add adds a .git, and the directory in the workspace that it points to.
func (n *nested) add(workspace, at string, d fs.DirEntry) {
	n.locked = append(n.locked, at)
	n.names = append(n.names, relative(workspace, at, d.IsDir())...)
	if d.IsDir() {
		return
	}
	target := at
	if d.Type().IsRegular() {
		text, err := os.ReadFile(at)
		pointer, ok := strings.CutPrefix(string(text), "gitdir: ")
		if target = strings.TrimRight(pointer, "\r\n"); err != nil || !ok {
			return
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
	}
	target, err := filepath.EvalSymlinks(target)
	if err == nil && pathtree.Within(target, workspace) && !pathtree.Within(target, filepath.Join(workspace, ".git")) {
		n.locked = append(n.locked, target)
		n.names = append(n.names, relative(workspace, target, true)...)
	}
}

// relative returns the names that a guard compares: the path itself, or the controls of
// the git directory that it is.
func relative(workspace, at string, isDir bool) []string {
	name, err := filepath.Rel(workspace, at)
	if err != nil {
		return nil
	}
	if name = filepath.ToSlash(name); isDir {
		return sandbox.GitControls(name)
	}
	return []string{name}
}
