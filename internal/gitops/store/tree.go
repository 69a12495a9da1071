package store

import (
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// State is what a tree holds at a path.
type State struct {
	Mode filemode.FileMode
	Hash plumbing.Hash // zero for a file that can't be read
}

// Placed is what a new tree holds at a path; a mode of zero means: nothing.
type Placed struct {
	Path string
	State
}

// String identifies the kind and content.
func (s State) String() string {
	if s.Mode == 0 {
		return "deleted"
	}
	return s.Mode.String() + " " + s.Hash.String()
}

// treeBuilder makes trees that differ from given ones in a few paths. Directories
// without such paths keep their trees unread.
type treeBuilder struct {
	objects *objectdb.Objects
	writer  *Writer
}

// BuildTree returns the tree that a tree becomes with these paths. Of a tree without entries it
// returns the id without writing it; the zero id stands for such a tree too.
func BuildTree(objects *objectdb.Objects, w *Writer, tree plumbing.Hash, paths []Placed) (plumbing.Hash, error) {
	return treeBuilder{objects, w}.build(tree, paths)
}

// build returns the tree that a tree becomes with these paths, relative to it.
func (b treeBuilder) build(tree plumbing.Hash, paths []Placed) (plumbing.Hash, error) {
	if len(paths) == 0 {
		return tree, nil
	}
	entries := map[string]object.TreeEntry{}
	if !tree.IsZero() && tree != objectdb.EmptyTree {
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
		if p.Mode == 0 && entries[p.Path].Mode != filemode.Dir {
			delete(entries, p.Path)
		}
	}
	for name, paths := range below {
		if err := b.buildBelow(entries, name, paths); err != nil {
			return tree, err
		}
	}
	for _, p := range here {
		if p.Mode != 0 {
			entries[p.Path] = object.TreeEntry{Name: p.Path, Mode: p.Mode, Hash: p.Hash}
		}
	}
	return b.write(entries)
}

// split separates the paths of a directory itself from those of directories in it.
func split(paths []Placed) (here []Placed, below map[string][]Placed) {
	below = map[string][]Placed{}
	for _, p := range paths {
		name, rest, deeper := strings.Cut(p.Path, "/")
		if !deeper {
			here = append(here, p)
			continue
		}
		p.Path = rest
		below[name] = append(below[name], p)
	}
	return here, below
}

func (b treeBuilder) buildBelow(entries map[string]object.TreeEntry, name string, paths []Placed) error {
	before, ok := entries[name]
	isTree := ok && before.Mode == filemode.Dir
	if !isTree {
		before.Hash = plumbing.ZeroHash
		if !slices.ContainsFunc(paths, func(p Placed) bool { return p.Mode != 0 }) {
			return nil // nothing comes, and no directory to take from
		}
	}
	hash, err := b.build(before.Hash, paths)
	if err != nil {
		return err
	}
	if hash == objectdb.EmptyTree {
		delete(entries, name)
		return nil
	}
	entries[name] = object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash}
	return nil
}

// write stores a directory.
func (b treeBuilder) write(entries map[string]object.TreeEntry) (plumbing.Hash, error) {
	if len(entries) == 0 {
		return objectdb.EmptyTree, nil
	}
	tree := &object.Tree{Entries: slices.Collect(maps.Values(entries))}
	sort.Sort(object.TreeEntrySorter(tree.Entries))
	data, err := Encode(tree)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return b.writer.WriteBytes(plumbing.TreeObject, data)
}

// Encode returns the content of a tree or commit as git stores it.
func Encode(o object.Object) ([]byte, error) {
	encoded := &plumbing.MemoryObject{}
	if err := o.Encode(encoded); err != nil {
		return nil, err
	}
	rd, err := encoded.Reader()
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	return io.ReadAll(rd)
}
