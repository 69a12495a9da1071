package state

import (
	"iter"
	"strings"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// IsBelow reports whether a path of a tree is in a directory, which is "" for the root.
func IsBelow(path, dir string) bool { return dir == "" || strings.HasPrefix(path, dir+"/") }

// ownPaths iterates over the paths of an index, copied into memory of their own: those of the entries refer to
// the bytes of the index file, which would stay in memory with them.
func ownPaths(idx *gitdir.Index) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		size := 0
		for i := range idx.Entries {
			size += len(idx.Entries[i].Path)
		}
		var all strings.Builder
		all.Grow(size)
		for i := range idx.Entries {
			all.WriteString(idx.Entries[i].Path)
		}
		paths := all.String()
		for i := range idx.Entries {
			n := len(idx.Entries[i].Path)
			if !yield(i, paths[:n]) {
				return
			}
			paths = paths[n:]
		}
	}
}
