package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/files/sharedfile"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/store"
)

// FullState is the state of a working tree that [Reader.Restore] restores.
type FullState struct {
	snapshot *Snapshot
	isDir    map[string]bool // by path, of all files and directories except the tree's own .git
}

// FullState returns the state of the working tree. from is a snapshot of it, if nothing has
// changed since then; nil for none.
func (r *Reader) FullState(ctx context.Context, from *Snapshot) (t *FullState, err error) {
	t = &FullState{snapshot: from, isDir: map[string]bool{}}
	if from == nil {
		if t.snapshot, err = r.Snapshot(ctx); err != nil {
			return nil, err
		}
	}
	err = r.eachPath(ctx, func(path string, d fs.DirEntry) error {
		t.isDir[path] = d.IsDir()
		return nil
	})
	return t, err
}

// eachPath calls fn for every file and directory.
func (r *Reader) eachPath(ctx context.Context, fn func(path string, d fs.DirEntry) error) error {
	err := filepath.WalkDir(r.Git.Root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return sharedfile.IgnoreMissing(err)
		}
		rel, err := filepath.Rel(r.Git.Root, path)
		if err != nil || rel == "." || rel == ".git" {
			return err
		}
		return fn(filepath.ToSlash(rel), d)
	})
	if err != nil {
		return fmt.Errorf("list the files in %s: %w", r.Git.Root, err)
	}
	return nil
}

// Restore removes files and directories that were not in a state of the tree, and gives
// files that a commit could contain their content back. Ignored files that were changed
// or removed stay as they are. No process may use the tree.
func (r *Reader) Restore(ctx context.Context, t *FullState) error {
	err := r.eachPath(ctx, func(path string, d fs.DirEntry) error {
		if _, existed := t.isDir[path]; existed {
			return nil
		}
		if err := sharedfile.RemoveAll(filepath.Join(r.Git.Root, filepath.FromSlash(path))); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return err
	}
	paths, _, err := r.ChangedPaths(ctx, t.snapshot)
	if err != nil || len(paths) == 0 {
		return err
	}
	root, err := os.OpenRoot(r.Git.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	slices.Sort(paths) // a directory before what is in it
	for _, path := range paths {
		if isDir, existed := t.isDir[path]; existed && !isDir && t.snapshot.ByPath()[path].Mode == 0 {
			continue // it was ignored
		}
		if err := restoreFile(root, r.Git.Settings.Symlinks, r.Git.Objects, t.snapshot, path); err != nil {
			return fmt.Errorf("restore %s in %s: %w", path, r.Git.Root, err)
		}
	}
	return nil
}

// restoreFile gives a file the content of a snapshot; it removes a file that is not in it.
func restoreFile(root *os.Root, symlinks bool, objects *objectdb.Objects, from *Snapshot, path string) error {
	at := from.ByPath()[path]
	if at.Mode == filemode.Submodule {
		return nil
	}
	if err := root.RemoveAll(path); err != nil || at.Mode == 0 {
		return err
	}
	data, stored := from.contents[at.Hash]
	if !stored {
		var err error
		if data, err = objects.Blob(at.Hash); err != nil {
			return err
		}
	}
	if err := root.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if at.Mode == filemode.Symlink && symlinks {
		return root.Symlink(string(data), path)
	}
	return writeNew(root, store.Placed{Path: path, State: at}, data)
}

func writeNew(root *os.Root, p store.Placed, data []byte) (err error) {
	mode := os.FileMode(0o666)
	if p.Mode == filemode.Executable {
		mode = 0o777
	}
	f, err := root.OpenFile(p.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	return err
}
