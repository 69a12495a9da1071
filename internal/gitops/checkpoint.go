package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/failpoint"
	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Checkpoints are states of a working tree that are stored as trees of git, whose objects are
// in a directory outside of the repository if it does not have them.
type Checkpoints struct {
	Repo  *Repo
	Store string // the directory, which must be named objects and exist
	// Secret reports whether a file contains a secret: it is not saved.
	Secret func(content []byte) bool
}

// Save stores the state of the working tree and returns the hash of its tree. from is the snapshot of the commit base ("" for none), limited to the directory
// that is saved. Paths that can't be committed are left out.
func (c Checkpoints) Save(ctx context.Context, from *Snapshot, base string) (hash string, err error) {
	failpoint.Hit(failpoint.SnapshotBefore, "")
	hash, err = c.save(ctx, from, base)
	failpoint.Hit(failpoint.SnapshotAfter, "")
	if err != nil {
		return "", fmt.Errorf("save the state of %s: %w", c.Repo.Git.Root, err)
	}
	return hash, nil
}

func (c Checkpoints) save(ctx context.Context, from *Snapshot, base string) (string, error) {
	r := c.Repo
	tree, err := r.openWorkTree(false)
	if err != nil {
		return "", err
	}
	defer tree.close()
	w := tree.walkFrom(from)
	w.largest = maxFileSize
	if err := w.runAll(ctx); err != nil {
		return "", err
	}
	cs := &ChangeSet{from: from, edits: w.edits(from)}
	if err := cs.refuse(tree, w.refused); err != nil {
		return "", err
	}
	for _, f := range cs.Refused {
		delete(cs.edits, f.Path)
	}
	before, err := r.RootTree(base)
	if err != nil || len(cs.edits) == 0 {
		return before, err
	}
	out := &objectWriter{dir: c.Store, dirs: map[string]bool{}, cache: true}
	var paths []placed
	for _, path := range slices.Sorted(maps.Keys(cs.edits)) {
		after := cs.edits[path].after
		if after.mode != 0 && !out.stored(after.hash) {
			data, err := tree.readAll(path, cs.edits[path])
			if err != nil {
				return "", err
			}
			if c.Secret(data) {
				continue
			}
			if hash, err := out.writeBytes(plumbing.BlobObject, data); err != nil || hash != after.hash {
				return "", errors.Join(err, fmt.Errorf("%s: %w", path, errReplaced))
			}
		}
		paths = append(paths, placed{path, after})
	}
	objects, err := r.Git.Objects.With(c.Store)
	if err != nil {
		return "", err
	}
	hash, err := (treeBuilder{objects, out}).build(plumbing.NewHash(before), paths)
	return hash.String(), err
}

// RootTree returns the tree of a commit; "" is the empty tree.
func (r *Repo) RootTree(commit string) (string, error) {
	if commit == "" {
		return gitdir.EmptyTree.String(), nil
	}
	hash, err := r.Git.Objects.RootTree(plumbing.NewHash(commit))
	return hash.String(), err
}

// Equal reports whether two snapshots have the same files.
func (s *Snapshot) Equal(other *Snapshot) bool { return maps.Equal(s.files, other.files) }

// Has reports whether the state with a hash can be restored.
func (c Checkpoints) Has(hash string) bool {
	_, _, err := c.read(hash)
	return err == nil
}

func (c Checkpoints) read(hash string) (*gitdir.Objects, *Snapshot, error) {
	if !plumbing.IsHash(hash) {
		return nil, nil, fmt.Errorf("%q is not the hash of a tree", hash)
	}
	objects, err := c.Repo.Git.Objects.With(c.Store)
	if err != nil {
		return nil, nil, err
	}
	s := &Snapshot{files: map[string]state{}}
	if h := plumbing.NewHash(hash); h != gitdir.EmptyTree {
		err = s.addTree(objects, h, "", 0)
	}
	return objects, s, err
}

// Restore gives the files of a directory of the working tree ("" for all) the content of a
// state that was saved. It removes other files that are not ignored. No process
// may use the tree.
func (c Checkpoints) Restore(ctx context.Context, hash, below string) error {
	r := c.Repo
	objects, saved, err := c.read(hash)
	if err != nil {
		return fmt.Errorf("restore the state %.10s of %s: %w", hash, r.Git.Root, err)
	}
	saved = saved.Below(below)
	paths, _, err := r.ChangedPaths(ctx, saved)
	if err != nil || len(paths) == 0 {
		return err
	}
	root, err := os.OpenRoot(r.Git.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, path := range paths { // sorted: a directory before what is in it
		if err := restoreFile(root, r.Git.Settings.Symlinks, objects, saved, path); err != nil {
			return fmt.Errorf("restore %s in %s: %w", path, r.Git.Root, err)
		}
	}
	return nil
}

// Replaced returns the paths that Restore would change.
func (c Checkpoints) Replaced(ctx context.Context, hash, below string) ([]string, error) {
	_, saved, err := c.read(hash)
	if err != nil {
		return nil, err
	}
	paths, _, err := c.Repo.ChangedPaths(ctx, saved.Below(below))
	return paths, err
}

// Snapshot returns a state that was saved, and its paths that differ from the
// commit base.
func (c Checkpoints) Snapshot(hash, base string) (saved *Snapshot, changed []string, err error) {
	objects, saved, err := c.read(hash)
	if err != nil {
		return nil, nil, err
	}
	committed, err := c.Repo.SnapshotOf(base)
	if err != nil {
		return nil, nil, err
	}
	saved.contents = map[plumbing.Hash][]byte{}
	for path, at := range saved.files {
		if at == committed.files[path] {
			continue
		}
		changed = append(changed, path)
		if saved.contents[at.hash], err = objects.Blob(at.hash); err != nil {
			return nil, nil, err
		}
	}
	for path := range committed.files {
		if saved.files[path].mode == 0 {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return saved, changed, nil
}

// stored reports whether the directory has a loose object.
func (w *objectWriter) stored(hash plumbing.Hash) bool {
	id := hash.String()
	_, err := os.Lstat(filepath.Join(w.dir, id[:2], id[2:]))
	return err == nil
}
