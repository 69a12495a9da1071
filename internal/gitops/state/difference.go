package state

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// Version is a path that differs between two commits, as it is in the second one.
type Version struct {
	Path    string
	Kind    string // "" for a regular file that is not executable, else what it is
	Content []byte // of such a file
	Deleted bool
}

// Difference returns the paths that differ between two commits. Contents of more than most
// bytes in total are an error.
func (c *Commits) Difference(from, to string, most int64) ([]Version, error) {
	paths, err := c.Touched(from, to)
	if err != nil {
		return nil, err
	}
	var all []Version
	for _, path := range paths {
		v := Version{Path: path}
		e, err := c.entryAt(to, path)
		switch {
		case err != nil:
			return nil, err
		case e.Mode == 0:
			v.Deleted = true
		case e.Mode == filemode.Regular:
			if v.Content, err = c.Git.Objects.Blob(e.Hash); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if most -= int64(len(v.Content)); most < 0 {
				return nil, errors.New("the changed files are too large")
			}
		default:
			v.Kind = map[filemode.FileMode]string{filemode.Executable: "an executable file", filemode.Symlink: "a symlink", filemode.Submodule: "a submodule"}[e.Mode]
			if v.Kind == "" {
				v.Kind = "of mode " + e.Mode.String()
			}
		}
		all = append(all, v)
	}
	return all, nil
}
