package gitops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// state is what a tree holds at a path.
type state struct {
	mode filemode.FileMode
	hash plumbing.Hash // zero for a file that can't be read
}

// placed is what a new tree holds at a path; a mode of zero means: nothing.
type placed struct {
	path string
	state
}

// String identifies the kind and content.
func (s state) String() string {
	if s.mode == 0 {
		return "deleted"
	}
	return s.mode.String() + " " + s.hash.String()
}

// treeBuilder makes trees that differ from given ones in a few paths. Directories
// without such paths keep their trees unread.
type treeBuilder struct {
	objects *gitdir.Objects
	writer  *objectWriter
}

// buildTree returns the tree that a tree becomes with these paths. Of a tree without entries it
// returns the id without writing it; the zero id stands for such a tree too.
func buildTree(objects *gitdir.Objects, w *objectWriter, tree plumbing.Hash, paths []placed) (plumbing.Hash, error) {
	return treeBuilder{objects, w}.build(tree, paths)
}

// build returns the tree that a tree becomes with these paths, relative to it.
func (b treeBuilder) build(tree plumbing.Hash, paths []placed) (plumbing.Hash, error) {
	if len(paths) == 0 {
		return tree, nil
	}
	entries := map[string]object.TreeEntry{}
	if !tree.IsZero() && tree != gitdir.EmptyTree {
		list, err := b.objects.Tree(tree)
		if err != nil {
			return tree, err
		}
		for _, e := range list {
			entries[e.Name] = e
		}
	}
	here, below := split(paths)
	// What goes makes room for a directory of the same name, and a directory that is
	// emptied makes room for a file.
	for _, p := range here {
		if p.mode == 0 && entries[p.path].Mode != filemode.Dir {
			delete(entries, p.path)
		}
	}
	for name, paths := range below {
		if err := b.buildBelow(entries, name, paths); err != nil {
			return tree, err
		}
	}
	for _, p := range here {
		if p.mode != 0 {
			entries[p.path] = object.TreeEntry{Name: p.path, Mode: p.mode, Hash: p.hash}
		}
	}
	return b.write(entries)
}

// split separates the paths of a directory itself from those of directories in it.
func split(paths []placed) (here []placed, below map[string][]placed) {
	below = map[string][]placed{}
	for _, p := range paths {
		name, rest, deeper := strings.Cut(p.path, "/")
		if !deeper {
			here = append(here, p)
			continue
		}
		p.path = rest
		below[name] = append(below[name], p)
	}
	return here, below
}

func (b treeBuilder) buildBelow(entries map[string]object.TreeEntry, name string, paths []placed) error {
	before, ok := entries[name]
	isTree := ok && before.Mode == filemode.Dir
	if !isTree {
		before.Hash = plumbing.ZeroHash
		if !slices.ContainsFunc(paths, func(p placed) bool { return p.mode != 0 }) {
			return nil // nothing comes, and no directory to take from
		}
	}
	hash, err := b.build(before.Hash, paths)
	if err != nil {
		return err
	}
	if hash == gitdir.EmptyTree {
		delete(entries, name)
		return nil
	}
	entries[name] = object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash}
	return nil
}

// write stores a directory. Its entries are sorted as if the names of directories
// ended with a slash.
func (b treeBuilder) write(entries map[string]object.TreeEntry) (plumbing.Hash, error) {
	type sorted struct {
		key   string
		entry object.TreeEntry
	}
	list := make([]sorted, 0, len(entries))
	for name, e := range entries {
		if e.Mode == filemode.Dir {
			name += "/"
		}
		list = append(list, sorted{name, e})
	}
	slices.SortFunc(list, func(a, b sorted) int { return strings.Compare(a.key, b.key) })
	var data []byte
	for _, s := range list {
		data = fmt.Appendf(data, "%o %s\x00", uint32(s.entry.Mode), s.entry.Name)
		data = append(data, s.entry.Hash[:]...)
	}
	if len(data) == 0 {
		return gitdir.EmptyTree, nil
	}
	return b.writer.writeBytes(plumbing.TreeObject, data)
}
