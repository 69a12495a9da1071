package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/proc/failpoint"
	"github.com/millhand/millhand/internal/text/redact"
)

// Checkpoints are states of a working tree that are stored as trees of git, whose objects are
// in a directory outside of the repository if it does not have them.
type Checkpoints struct {
	Reader *Reader
	Store  string // the directory, which must exist
	// LeftOut makes searches record what they leave out.
	LeftOut bool
	// Redact knows the secrets: a file that contains one is not saved.
	Redact *redact.Redactor
}

// Saved is a state of a working tree that was saved.
type Saved struct {
	Tree  string                 // its hash
	Left  *LeftOut               // what the last search left out; nil if that is not recorded
	after map[string]store.State // of the paths that differed from the base, also of those that were left out
	found *ChangeSet             // from the snapshot, without its list of changes; nil if they were not searched for

	// Named reports that only files whose names were given have been looked at since [AtBase]: all of them are in the base.
	Named bool
}

// AtBase returns the state of a working tree that is exactly at a snapshot, whose tree is given.
func AtBase(tree string, from *Snapshot) Saved {
	return Saved{Tree: tree, found: &ChangeSet{from: from, edits: map[string]edit{}}, Named: true}
}

// Save stores the state of the working tree. from is the snapshot of the commit base ("" for none), limited to the directory
// that is saved. Paths that can't be committed are left out.
func (c Checkpoints) Save(ctx context.Context, from *Snapshot, base string) (Saved, error) {
	return c.hit(func() (Saved, error) { return c.save(ctx, from, base) })
}

// SaveFiles is like Save, for a working tree in which nothing but these files was written since
// the last state: it does not search for others if git knew all of them. They are
// absolute.
func (c Checkpoints) SaveFiles(ctx context.Context, from *Snapshot, base string, last Saved, files []string) (Saved, error) {
	return c.hit(func() (Saved, error) {
		saved, ok, err := c.saveFiles(ctx, from, last, files)
		if err == nil && !ok {
			saved, err = c.save(ctx, from, base)
		}
		return saved, err
	})
}

// Changes returns what [Reader.Changes] returns for the snapshot that a state was saved with, without a
// search, for a working tree that nothing has changed since then; nil if the changes are not known.
func (c Checkpoints) Changes(ctx context.Context, saved Saved) (*ChangeSet, error) {
	if saved.found == nil {
		return nil, nil //nolint:nilnil // as documented
	}
	tree, err := c.Reader.openWorkTree(false)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	cs := saved.found.copied()
	return cs, cs.describe(ctx, tree)
}

// copied returns a copy without a list of changes.
func (cs *ChangeSet) copied() *ChangeSet {
	return &ChangeSet{Refused: slices.Clone(cs.Refused), edits: maps.Clone(cs.edits), from: cs.from}
}

// with returns the changes after others, of files that were looked at again; nil if they are not known,
// because a path is refused or was.
func (cs *ChangeSet) with(others *ChangeSet) *ChangeSet {
	if cs == nil || len(cs.Refused)+len(others.Refused) > 0 {
		return nil
	}
	all := cs.copied()
	for path, e := range others.edits {
		if all.edits[path] = e; e.before == e.after {
			delete(all.edits, path)
		}
	}
	return all
}

func (c Checkpoints) hit(save func() (Saved, error)) (saved Saved, err error) {
	failpoint.Hit(failpoint.SnapshotBefore, "")
	saved, err = save()
	failpoint.Hit(failpoint.SnapshotAfter, "")
	if err != nil {
		return Saved{}, fmt.Errorf("save the state of %s: %w", c.Reader.Git.Root, err)
	}
	return saved, nil
}

func (c Checkpoints) save(ctx context.Context, from *Snapshot, base string) (Saved, error) {
	r := c.Reader
	tree, err := r.openWorkTree(false)
	if err != nil {
		return Saved{}, err
	}
	defer tree.Close()
	w := r.walkFrom(tree, from)
	w.largest = maxFileSize
	var left *LeftOut
	if c.LeftOut {
		left = leftOutOf(w)
	}
	if err := w.runAll(ctx); err != nil {
		return Saved{}, err
	}
	before, err := r.RootTree(base)
	if err != nil {
		return Saved{}, err
	}
	edits, err := w.readEdits(ctx, from)
	if err != nil {
		return Saved{}, err
	}
	cs := &ChangeSet{from: from, edits: edits}
	return c.store(tree, cs, w.refused, Saved{Tree: before, Left: left})
}

// saveFiles reports whether the files could be saved without a search.
func (c Checkpoints) saveFiles(ctx context.Context, from *Snapshot, last Saved, files []string) (saved Saved, ok bool, err error) {
	tree, err := c.Reader.openWorkTree(false)
	if err != nil {
		return saved, false, err
	}
	defer tree.Close()
	w := &walk{reader: c.Reader, tree: tree, known: from.ByPath(), largest: maxFileSize}
	for _, file := range files {
		path, err := filepath.Rel(c.Reader.Git.Root, file)
		if err != nil {
			return saved, false, nil // it is searched for
		}
		if ok, err := w.addFile(filepath.ToSlash(path), from, last); err != nil || !ok {
			return saved, false, err
		}
	}
	if err := w.hash(ctx); err != nil {
		return saved, false, err
	}
	cs := &ChangeSet{from: from, edits: map[string]edit{}}
	for i := range w.files {
		f := &w.files[i]
		cs.edits[f.path] = edit{before: from.ByPath()[f.path], after: f.state, stored: w.stored(f)}
	}
	if saved, err = c.store(tree, cs, nil, last); err != nil {
		return saved, false, err
	}
	saved.found, saved.Named = last.found.with(saved.found), last.Named
	return saved, true, nil
}

// addFile adds a file to those that are looked at. It reports false for one that has to be searched
// for, because rules of git decide on it or depend on it.
func (w *walk) addFile(path string, from *Snapshot, last Saved) (ok bool, err error) {
	at, changed := last.after[path]
	if !changed {
		at = from.ByPath()[path]
	}
	dir, name := filepath.Split(filepath.FromSlash(path))
	if !content.IsPlain(at.Mode) || from.ByPath()[path].Mode == 0 || !IsBelow(path, from.below) || strings.HasPrefix(name, ".git") {
		return false, nil
	}
	if c, err := w.tree.Conversion(path); err != nil || c.Variable() {
		return false, err
	}
	in, err := w.tree.OpenDirectory(cmp.Or(dir, "."))
	if err != nil {
		return false, nil // likewise
	}
	defer in.Close()
	f, ok, err := w.file(in, &directory{}, path)
	if err != nil || !ok || !content.IsPlain(f.state.Mode) {
		return false, err
	}
	w.files = append(w.files, f)
	return true, nil
}

// store stores the changes, and the tree that the last state becomes with them.
func (c Checkpoints) store(tree *content.Tree, cs *ChangeSet, refused []Refusal, last Saved) (Saved, error) {
	after := maps.Clone(last.after)
	if after == nil {
		after = map[string]store.State{}
	}
	for path, e := range cs.edits {
		after[path] = e.after
	}
	changed := slices.Sorted(maps.Keys(cs.edits))
	if err := cs.refuse(tree, refused); err != nil {
		return Saved{}, err
	}
	found := cs.copied()
	for _, f := range cs.Refused {
		delete(cs.edits, f.Path)
	}
	out := store.NewCache(c.Store)
	paths := make([]store.Placed, 0, len(changed))
	for _, path := range changed {
		e, ok := cs.edits[path]
		if ok {
			var err error
			if ok, err = c.storeFile(tree, out, path, e); err != nil {
				return Saved{}, err
			}
		}
		if !ok {
			e.after = cs.from.ByPath()[path] // as if it had not changed
		}
		paths = append(paths, store.Placed{Path: path, State: e.after})
	}
	objects := c.Reader.Git.Objects.With(c.Store)
	hash, err := store.BuildTree(objects, out, plumbing.NewHash(last.Tree), paths)
	return Saved{Tree: hash.String(), Left: last.Left, after: after, found: found}, err
}

// storeFile stores the content of a changed path, unless it contains a secret.
func (c Checkpoints) storeFile(tree *content.Tree, out *store.Writer, path string, e edit) (ok bool, err error) {
	if e.after.Mode == 0 || out.Stored(e.after.Hash) {
		return true, nil
	}
	data, err := tree.ReadAll(path, e.after, e.stored)
	if err != nil || c.Redact.Held(string(data)) != string(data) {
		return false, err
	}
	if hash, err := out.WriteBytes(plumbing.BlobObject, data); err != nil || hash != e.after.Hash {
		return false, errors.Join(err, fmt.Errorf("%s: %w", path, content.ErrReplaced))
	}
	return true, nil
}

// Equal reports whether two snapshots have the same files.
func (s *Snapshot) Equal(other *Snapshot) bool {
	return s == other || maps.Equal(s.ByPath(), other.ByPath())
}

// Complete reports whether a snapshot of a working tree has all of its files.
func (s *Snapshot) Complete() bool { return len(s.refused)+len(s.skipped) == 0 }

// Has reports whether the state with a hash can be restored.
func (c Checkpoints) Has(hash string) bool {
	_, _, err := c.read(hash)
	return err == nil
}

func (c Checkpoints) read(hash string) (*objectdb.Objects, *Snapshot, error) {
	if !plumbing.IsHash(hash) {
		return nil, nil, fmt.Errorf("%q is not the hash of a tree", hash)
	}
	objects := c.Reader.Git.Objects.With(c.Store)
	s := &Snapshot{byPath: map[string]store.State{}}
	if h := plumbing.NewHash(hash); h != objectdb.EmptyTree {
		if err := s.addTree(objects, h, "", 0); err != nil {
			return nil, nil, err
		}
	}
	return objects, s, nil
}

// Restore gives the files of a directory of the working tree ("" for all) the content of a
// state that was saved. It removes other files that are not ignored. No process
// may use the tree.
func (c Checkpoints) Restore(ctx context.Context, hash, below string) error {
	r := c.Reader
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
	paths, _, err := c.Reader.ChangedPaths(ctx, saved.Below(below))
	return paths, err
}

// Snapshot returns a state that was saved, and its paths that differ from the
// commit base.
func (c Checkpoints) Snapshot(hash, base string) (saved *Snapshot, changed []string, err error) {
	objects, saved, err := c.read(hash)
	if err != nil {
		return nil, nil, err
	}
	committed, err := c.Reader.SnapshotOf(base)
	if err != nil {
		return nil, nil, err
	}
	saved.contents = map[plumbing.Hash][]byte{}
	for path, at := range saved.ByPath() {
		if at == committed.ByPath()[path] {
			continue
		}
		changed = append(changed, path)
		if saved.contents[at.Hash], err = objects.Blob(at.Hash); err != nil {
			return nil, nil, err
		}
	}
	for path := range committed.ByPath() {
		if saved.ByPath()[path].Mode == 0 {
			changed = append(changed, path)
		}
	}
	slices.Sort(changed)
	return saved, changed, nil
}
