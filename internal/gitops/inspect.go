package gitops

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Message returns the message of a commit, given by its hash.
func (r *Repo) Message(commit string) (string, error) {
	c, err := r.objects.commit(plumbing.NewHash(commit))
	if err == nil && c == nil {
		err = plumbing.ErrObjectNotFound
	}
	if err != nil {
		return "", fmt.Errorf("message of commit %s: %w", commit, err)
	}
	return c.Message, nil
}

// Has reports whether a commit's tree has a file, link, submodule or directory at a
// path: slash separated, clean, and relative to the root, which is "" or ".".
func (r *Repo) Has(commit, name string) (bool, error) {
	has, err := r.has(commit, name)
	if err != nil {
		return false, fmt.Errorf("look for %s in commit %s: %w", name, commit, err)
	}
	return has, nil
}

func (r *Repo) has(commit, name string) (bool, error) {
	tree, err := r.objects.rootTree(plumbing.NewHash(commit))
	if err != nil || name == "" || name == "." {
		return err == nil, err
	}
	if path.Clean(name) != name || name[0] == '/' || strings.HasPrefix(name, "../") || name == ".." {
		return false, errors.New("it is not a clean relative path")
	}
	entry := object.TreeEntry{Mode: filemode.Dir, Hash: tree}
	for part := range strings.SplitSeq(name, "/") {
		if entry.Mode != filemode.Dir || entry.Hash == emptyTree {
			return false, nil
		}
		entries, err := r.objects.tree(entry.Hash)
		if err != nil {
			return false, err
		}
		found := false
		for _, e := range entries {
			if e.Name == part {
				entry, found = e, true
			}
		}
		if !found {
			return false, nil
		}
	}
	return true, nil
}
