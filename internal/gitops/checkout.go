package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// checkout writes the files of a tree to an empty directory and returns the
// matching index.
func checkout(ctx context.Context, git *gitdir.Dir, dir string, tree plumbing.Hash) (*gitdir.Index, error) {
	s := &Snapshot{files: map[string]state{}}
	if err := s.addTree(git.Objects, tree, "", 0); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, err := s.sorted()
	if err != nil {
		return nil, err
	}
	if err := makeDirectories(root, files); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var entries []gitdir.IndexEntry
	err = inParallel(ctx, files, func(p placed) error {
		st, err := writeEntry(git, root, p)
		if err != nil {
			return fmt.Errorf("check out %s: %w", p.path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		entries = append(entries, gitdir.IndexEntry{Path: p.path, Mode: p.mode, Hash: p.hash, Stat: st})
		return nil
	})
	return gitdir.NewIndex(entries), err
}

// sorted returns the files by path. It rejects names that would escape the
// directory.
func (s *Snapshot) sorted() ([]placed, error) {
	files := make([]placed, 0, len(s.files))
	for path, at := range s.files {
		for name := range strings.SplitSeq(path, "/") {
			if name == "" || name == "." || name == ".." || reserved(name) {
				return nil, &gitdir.UnsupportedError{Reason: "the commit contains a path that git rejects", Paths: []string{path}}
			}
		}
		files = append(files, placed{path, at})
	}
	slices.SortFunc(files, func(a, b placed) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

func makeDirectories(root *os.Root, files []placed) error {
	made := map[string]bool{"": true}
	for _, f := range files {
		dirs := gitdir.Parents(f.path)
		if f.mode == filemode.Submodule {
			dirs = append(dirs, f.path)
		}
		for _, dir := range dirs {
			if made[dir] {
				continue
			}
			if err := root.Mkdir(dir, 0o777); err != nil {
				return err
			}
			made[dir] = true
		}
	}
	return nil
}

func writeEntry(git *gitdir.Dir, root *os.Root, p placed) (gitdir.Stat, error) {
	if p.mode == filemode.Submodule {
		return gitdir.Stat{}, nil
	}
	data, err := git.Objects.Blob(p.hash)
	if err != nil {
		return gitdir.Stat{}, err
	}
	if p.mode == filemode.Symlink && git.Settings.Symlinks {
		err = root.Symlink(string(data), p.path)
	} else {
		err = writeNew(root, p, data)
	}
	if err != nil {
		return gitdir.Stat{}, err
	}
	info, err := root.Lstat(p.path)
	if err != nil {
		return gitdir.Stat{}, err
	}
	return gitdir.StatOf(info), nil
}

func writeNew(root *os.Root, p placed, data []byte) (err error) {
	mode := os.FileMode(0o666)
	if p.mode == filemode.Executable {
		mode = 0o777
	}
	f, err := root.OpenFile(p.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	return err
}
