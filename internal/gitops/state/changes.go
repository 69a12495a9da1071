package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/objectdb"
	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/proc/parallel"
)

// Kind is what happened to a path.
type Kind string

// The kinds of changes. A file that became a symlink, or the reverse, is
// Modified.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
)

// Change is one path that differs. Line counts are 0 for binary files.
type Change struct {
	Path    string // slash-separated, relative to the root; any bytes except NUL
	Kind    Kind
	Added   int // lines
	Removed int // lines
	Binary  bool
}

// ChangeSet is the difference between a snapshot and the working tree.
type ChangeSet struct {
	Changes []Change  // sorted by path
	Refused []Refusal // paths that make Commit fail; some are not in Changes

	edits    map[string]edit // by the paths of Changes
	from     *Snapshot
	contents map[plumbing.Hash][]byte // new contents held in memory; see keeper
	private  bool                     // only the directory's own rules apply
}

// edit is a path's content before and after; mode zero means absent.
type edit struct {
	before, after store.State
	stored        plumbing.Hash // decides the line endings of after
	unread        bool          // the hash of after is unknown
}

func (e edit) kindOfChange() Kind {
	switch {
	case e.before.Mode == 0:
		return Added
	case e.after.Mode == 0:
		return Deleted
	}
	return Modified
}

// Changes returns the differences from a snapshot.
func (r *Reader) Changes(ctx context.Context, from *Snapshot) (*ChangeSet, error) {
	cs, err := r.changes(ctx, from, func(*walk) {})
	if err != nil {
		return nil, fmt.Errorf("collect changes in %s: %w", r.Git.Root, err)
	}
	return cs, nil
}

func (r *Reader) changes(ctx context.Context, from *Snapshot, prepare func(*walk)) (*ChangeSet, error) {
	tree, err := r.openWorkTree(false)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	cs := &ChangeSet{from: from, contents: map[plumbing.Hash][]byte{}}
	w := r.walkFrom(tree, from)
	w.keep, w.largest = rememberIn(cs.contents), maxFileSize
	prepare(w)
	if err := w.runAll(ctx); err != nil {
		return nil, err
	}
	if cs.edits, err = w.readEdits(ctx, from); err != nil {
		return nil, err
	}
	if err := cs.refuse(tree, w.refused); err != nil {
		return nil, err
	}
	return cs, cs.describe(ctx, tree)
}

// AllFiles returns all files of a private working tree as changes. Only its own ignore and attribute files count.
func (r *Reader) AllFiles(ctx context.Context) (*ChangeSet, error) {
	now, err := r.snapshot(ctx, nil, true, func(*walk) {})
	if err != nil {
		return nil, err
	}
	cs := &ChangeSet{from: &Snapshot{}, edits: map[string]edit{}, private: true}
	for path, s := range now.ByPath() {
		if s.Hash.IsZero() {
			return nil, fmt.Errorf("read %s: %w", path, fs.ErrPermission)
		}
		cs.Changes = append(cs.Changes, Change{Path: path, Kind: Added})
		cs.edits[path] = edit{after: s}
	}
	return cs, nil
}

// ChangedPaths returns the sorted paths that differ from a snapshot, and those that
// Commit would refuse, without reading new files.
func (r *Reader) ChangedPaths(ctx context.Context, from *Snapshot) (paths []string, refused []Refusal, err error) {
	paths, refused, err = r.changedPaths(ctx, from)
	if err != nil {
		return nil, nil, fmt.Errorf("find changed paths in %s: %w", r.Git.Root, err)
	}
	return paths, refused, nil
}

func (r *Reader) changedPaths(ctx context.Context, from *Snapshot) ([]string, []Refusal, error) {
	tree, err := r.openWorkTree(false)
	if err != nil {
		return nil, nil, err
	}
	defer tree.Close()
	w := r.walkFrom(tree, from)
	w.lazy, w.largest = true, maxFileSize
	if err := w.runAll(ctx); err != nil {
		return nil, nil, err
	}
	cs := &ChangeSet{from: from, edits: w.edits(from)}
	paths := slices.Sorted(maps.Keys(cs.edits))
	err = cs.refuse(tree, w.refused)
	return paths, cs.Refused, err
}

// walkFrom returns a walk for the differences from a snapshot.
func (r *Reader) walkFrom(tree *content.Tree, from *Snapshot) *walk {
	idx, err := r.Git.Index()
	if err != nil {
		idx = &gitdir.Index{} // only an optimization, and an agent may have corrupted it
	}
	w := r.newWalk(tree, idx, from.ByPath())
	w.below = from.below
	w.enters = func(path string) bool {
		return !from.refused[path] && isSmall(filepath.Join(r.Git.Root, filepath.FromSlash(path)))
	}
	return w
}

// The limits of a nested repository whose files are saved although it can't be committed. One that
// was cloned can be far larger, and can be cloned again.
const (
	maxNestedFiles = 2000
	maxNestedBytes = 32 << 20
)

// isSmall reports whether a nested repository is within the limits, without its git directory.
func isSmall(dir string) bool {
	count, size := 0, int64(0)
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if count++; info.Mode().IsRegular() {
			size += info.Size()
		}
		if count > maxNestedFiles || size > maxNestedBytes {
			return errLarge
		}
		return nil
	})
	return err == nil
}

var errLarge = errors.New("larger than its limit")

// runAll runs the walk with the ignore rules of the repository.
func (w *walk) runAll(ctx context.Context) error {
	rules, err := w.reader.IgnoreRules()
	if err != nil {
		return err
	}
	return w.run(ctx, rules)
}

// edits compares the result of a walk with a snapshot.
func (w *walk) edits(from *Snapshot) map[string]edit {
	edits, files := map[string]edit{}, from.ByPath()
	present := 0 // paths of the snapshot that exist
	compare := func(path string, e edit) {
		e.before = files[path]
		if e.before.Mode != 0 {
			present++
		}
		if e.before != e.after {
			edits[strings.Clone(path)] = e // of an index, which would stay in memory for its name
		}
	}
	for i, met := range w.met {
		if e := &w.index.Entries[i]; met == unchanged {
			compare(e.Path, edit{after: EntryState(e), stored: e.Hash})
		}
	}
	now := make(map[string]bool, len(w.files))
	for i := range w.files {
		f := &w.files[i]
		now[f.path] = true
		compare(f.path, edit{after: f.state, stored: w.stored(f), unread: !f.hashed && w.lazy && !f.tracked})
	}
	if present == len(files) {
		return edits
	}
	for path, before := range files {
		if now[path] || content.Outside(path) || from.skipped[path] {
			continue
		}
		i, tracked := w.search(path)
		if tracked && (w.met[i] != absent || w.sparse(i) && before == EntryState(&w.index.Entries[i])) {
			continue
		}
		edits[path] = edit{before: before}
	}
	return edits
}

// readEdits returns the differences from a snapshot, for callers that use the new content. It reads changed
// files although the index has their hashes: an agent may have added them with other filters or attributes.
func (w *walk) readEdits(ctx context.Context, from *Snapshot) (map[string]edit, error) {
	edits := w.edits(from)
	w.files = nil
	for path, e := range edits {
		i, ok := w.search(path)
		if !ok || !content.IsPlain(e.after.Mode) || e.after.Hash != e.stored {
			continue
		}
		if large, err := w.tree.LargerThan(path, w.largest); err != nil {
			return nil, err
		} else if !large { // otherwise it is refused, whatever it holds
			w.files = append(w.files, found{path: path, state: store.State{Mode: e.after.Mode}, tracked: true, entry: w.only(i), stat: w.index.Entries[i].Stat})
		}
	}
	if err := w.hash(ctx); err != nil {
		return nil, err
	}
	for _, f := range w.files {
		e := edits[f.path]
		if e.after = f.state; e.after == e.before {
			delete(edits, f.path)
		} else {
			edits[f.path] = e
		}
	}
	return edits, nil
}

// refuse records the changes that can't be committed.
func (cs *ChangeSet) refuse(tree *content.Tree, found []Refusal) error {
	for _, f := range found {
		if !cs.from.refused[f.Path] {
			cs.Refused = append(cs.Refused, f)
		}
	}
	for path, e := range cs.edits {
		_, small := cs.contents[e.after.Hash]
		reason, err := refusal(tree, path, e, small)
		if err != nil {
			return err
		}
		if reason == "" {
			continue
		}
		if slices.ContainsFunc(found, func(f Refusal) bool { return f.Reason == NestedRepository && IsBelow(path, f.Path) }) {
			delete(cs.edits, path) // refused with its repository
			continue
		}
		cs.Refused = append(cs.Refused, Refusal{path, reason})
		if e.after.Mode != 0 && (reason == tooLarge || e.after.Hash.IsZero() || e.after.Mode == filemode.Submodule) {
			delete(cs.edits, path) // no content to show
		}
	}
	slices.SortFunc(cs.Refused, func(a, b Refusal) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// maxFileSize is the maximum size of an added or changed file in bytes: forges
// reject larger ones, and a patch contains the complete file.
const maxFileSize = 100 << 20

// tooLarge is the reason of a Refusal for a file larger than maxFileSize.
var tooLarge = fmt.Sprintf("file exceeds %d MiB", maxFileSize>>20)

// refusal returns why a changed path can't be committed, or "". The size of a
// file known to be small is not checked.
func refusal(tree *content.Tree, path string, e edit, small bool) (string, error) {
	if isFile := e.after.Mode == filemode.Regular || e.after.Mode == filemode.Executable; isFile && !small {
		if large, err := tree.LargerThan(path, maxFileSize); err != nil || large {
			return tooLarge, err
		}
	}
	if failed := tree.Failure(path); failed != nil {
		return failed.Error(), nil //nolint:nilerr // the reason of a refusal, not an error
	}
	switch {
	case e.after.Mode == 0:
		return "", nil
	case e.after.Hash.IsZero() && !e.unread:
		return "file can't be read", nil
	case e.after.Mode == filemode.Submodule:
		return "a submodule was added", nil
	case e.after.Mode == filemode.Symlink:
		if path[strings.LastIndexByte(path, '/')+1:] == ".gitmodules" {
			return "git does not accept a symlink with this name", nil
		}
		return "", nil
	}
	a, err := tree.Attributes(path)
	if err != nil {
		return "", err
	}
	if encoding := content.EncodingOf(a); encoding != "" {
		return "its attributes require the encoding " + encoding, nil
	}
	if filter := content.FilterOf(a); filter != "" {
		return tree.Unfilterable(filter), nil
	}
	return "", nil
}

// describe fills in the list of changes.
func (cs *ChangeSet) describe(ctx context.Context, tree *content.Tree) error {
	for path, e := range cs.edits {
		cs.Changes = append(cs.Changes, Change{Path: path, Kind: e.kindOfChange()})
	}
	slices.SortFunc(cs.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	order := make([]*Change, len(cs.Changes))
	for i := range cs.Changes {
		order[i] = &cs.Changes[i]
	}
	return parallel.Each(ctx, order, func(c *Change) error {
		v, err := cs.versions(tree, c.Path)
		if err != nil {
			return err
		}
		c.Added, c.Removed, c.Binary = v.count()
		return nil
	})
}

// maxDiffSize is the maximum size of a file to compare by lines.
const maxDiffSize = 16 << 20

// versions returns the contents of a changed path. If the new content is not in
// memory, it is read again and must be unchanged.
func (cs *ChangeSet) versions(tree *content.Tree, path string) (versions, error) {
	e := cs.edits[path]
	a, err := tree.Attributes(path)
	if err != nil {
		return versions{}, err
	}
	var v versions
	if content.IsPlain(e.before.Mode) || content.IsPlain(e.after.Mode) { // git ignores a symlink's attributes
		v.opaque, v.text = a["diff"] == "false", a["diff"] == "true"
	}
	if v.before, v.beforeAvailable, err = cs.from.content(tree.Git.Objects, e.before); err != nil {
		return v, err
	}
	if e.after.Mode == 0 {
		v.known = v.beforeAvailable
		return v, nil
	}
	if data, ok := cs.contents[e.after.Hash]; ok {
		v.after, v.known = data, v.beforeAvailable
		return v, nil
	}
	c, err := tree.Measured(path, e.after, e.stored)
	if err != nil {
		return v, err
	}
	defer c.Close()
	if c.Size <= maxDiffSize && c.Large == nil {
		v.after = c.Data
		v.known = v.beforeAvailable
	}
	return v, nil
}

// content returns a snapshot's content at a path; false if it is too large or
// not available.
func (s *Snapshot) content(objects *objectdb.Objects, at store.State) ([]byte, bool, error) {
	if at.Mode == 0 {
		return nil, true, nil
	}
	if at.Mode == filemode.Submodule {
		return []byte("Subproject commit " + at.Hash.String() + "\n"), true, nil
	}
	if data, ok := s.contents[at.Hash]; ok {
		return data, true, nil
	}
	size, err := objects.Size(at.Hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) || err == nil && size > maxDiffSize {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	data, err := objects.Blob(at.Hash)
	return data, err == nil, err
}
