package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/gitops/content"
)

// Dirty returns the sorted paths that differ from HEAD in the index or in the
// working tree, and untracked files that are not ignored. Untracked
// repositories end with a slash. Files marked as assume-unchanged or
// skip-worktree count as unchanged, and files below .millhand are ignored.
func (r *Reader) Dirty(ctx context.Context) ([]string, error) {
	s, err := statusBy(ctx, r, r.SnapshotOf)
	return s.Dirty, err
}

// Status is how the index and the working tree compare with HEAD.
type Status struct {
	Head  string   // its commit
	Dirty []string // see [Reader.Dirty]
	// AtHead reports that a snapshot of the working tree would be that of HEAD.
	AtHead bool
	Left   *LeftOut // what is in neither
	// Files keeps the listing of HEAD in use, if the index has exactly its files; see [Listed].
	Files *Snapshot
}

// Status compares the index and the working tree with HEAD. It is called before other programs
// than the user's can have changed the index.
func (r *Reader) Status(ctx context.Context) (Status, error) {
	return statusBy(ctx, r, nil)
}

// statusBy compares with a snapshot of HEAD that a function returns; nil: with the index, if it has exactly
// the files of HEAD.
func statusBy(ctx context.Context, r *Reader, head func(commit string) (*Snapshot, error)) (Status, error) {
	s, err := statusOf(ctx, r, head)
	if err != nil {
		return Status{}, fmt.Errorf("find changes in %s: %w", r.Git.Root, err)
	}
	return s, nil
}

func statusOf(ctx context.Context, r *Reader, list func(commit string) (*Snapshot, error)) (s Status, err error) {
	rules, err := r.IgnoreRules()
	if err != nil {
		return s, err
	}
	head, err := r.Git.Head()
	if err != nil {
		return s, err
	}
	s.Head = head.Hash
	tree, err := r.openWorkTree(false)
	if err != nil {
		return s, err
	}
	defer tree.Close()
	idx, err := r.Git.Index()
	if err != nil {
		return s, err
	}
	if list == nil {
		s.Files, err = r.listingBy(idx, s.Head)
		list = r.SnapshotOf
	}
	var base *Snapshot // nil: the index has exactly its files
	if s.Files == nil && err == nil {
		base, err = list(s.Head)
	}
	if err != nil {
		return s, err
	}
	w := r.newWalk(tree, idx, nil)
	w.lazy = true
	s.Left = leftOutOf(w)
	if err := w.run(ctx, rules); err != nil {
		return s, err
	}
	s.Dirty = w.differences(base)
	s.AtHead = len(s.Dirty) == 0
	for i := 0; i < len(idx.Entries) && s.AtHead; i++ {
		s.AtHead = !idx.Entries[i].AssumedUnchanged()
	}
	return s, nil
}

// differences compares HEAD with the index and the index with the working tree. A nil HEAD is one
// that the index has exactly the files of.
func (w *walk) differences(head *Snapshot) []string {
	differs := map[string]bool{}
	for i, met := range w.met {
		e := &w.index.Entries[i]
		if head != nil && head.ByPath()[e.Path] != EntryState(e) || met != unchanged && w.only(i) == nil || met == absent && !e.AssumedUnchanged() {
			differs[e.Path] = true
		}
	}
	if head != nil && (len(differs) > 0 || len(head.ByPath()) != len(w.met)) {
		for path := range head.ByPath() {
			if _, ok := w.search(path); !ok {
				differs[path] = true
			}
		}
	}
	for i := range w.files {
		f := &w.files[i]
		if f.entry == nil || !f.entry.AssumedUnchanged() && f.state != EntryState(f.entry) {
			differs[f.path] = true
		}
	}
	for _, f := range w.refused {
		differs[f.Path+"/"] = true
	}
	var paths []string
	for path := range differs {
		if !content.Outside(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
