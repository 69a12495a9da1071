package state

import (
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// maxSymlinks is how many symlinks a path can have, as on Linux.
const maxSymlinks = 40

// Through returns the names by which a commit's tree finds a file: a path, given as for Has, and for each symlink
// in it the path that it resolves to, until that is outside of the tree. Nothing has to exist.
func (c *Commits) Through(commit, name string) (names []string, err error) {
	for names = []string{name}; len(names) <= maxSymlinks; names = append(names, name) {
		if name, err = c.followed(commit, name); err != nil || name == "" {
			return names, err
		}
	}
	return names, nil
}

// followed returns a path with its first symlink resolved; "" if it has none, or leads out of the tree.
func (c *Commits) followed(commit, name string) (string, error) {
	for end := range len(name) + 1 {
		if end < len(name) && name[end] != '/' {
			continue
		}
		entry, err := c.entryAt(commit, name[:end])
		if err != nil || entry.Mode != filemode.Symlink {
			if err != nil {
				return "", err
			}
			continue
		}
		target, err := c.Git.Objects.Blob(entry.Hash)
		if err != nil {
			return "", err
		}
		to := path.Join(path.Dir(name[:end]), string(target), name[end:])
		if path.IsAbs(string(target)) || to == ".." || strings.HasPrefix(to, "../") {
			return "", nil
		}
		return to, nil
	}
	return "", nil
}
