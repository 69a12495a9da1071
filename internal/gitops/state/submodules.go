package state

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Submodules returns the paths of the index's submodules in a directory of the work tree
// ("" is the root), relative to the directory; none if the index can't be read.
func (r *Reader) Submodules(below string) []string {
	idx, err := r.Git.Index()
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range idx.Entries {
		if e.Mode == filemode.Submodule && IsBelow(e.Path, below) {
			list = append(list, strings.TrimPrefix(strings.TrimPrefix(e.Path, below), "/"))
		}
	}
	return list
}
