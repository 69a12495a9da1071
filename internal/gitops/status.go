package gitops

import (
	"context"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/gitops/gitdir"
)

// Dirty returns the sorted paths that differ from HEAD in the index or in the
// working tree, and untracked files that are not ignored. Untracked
// repositories end with a slash. Files marked as assume-unchanged or
// skip-worktree count as unchanged, and files below .millhand are ignored.
func (r *Repo) Dirty(ctx context.Context) ([]string, error) {
	s, err := statusBy(ctx, r, r.SnapshotOf)
	return s.Dirty, err
}

// Status is how the index and the working tree compare with HEAD.
type Status struct {
	Head  string   // its commit
	Dirty []string // see [Repo.Dirty]
	// AtHead reports that a snapshot of the working tree would be that of HEAD.
	AtHead bool
	Left   *LeftOut // what is in neither
}

// Status compares the index and the working tree with HEAD. It is called before other programs
// than the user's can have changed the index.
func (r *Repo) Status(ctx context.Context) (Status, error) {
	return statusBy(ctx, r, nil)
}

// statusBy compares with a snapshot of HEAD that a function returns; nil: that of the index, if it is one.
func statusBy(ctx context.Context, r *Repo, head func(commit string) (*Snapshot, error)) (Status, error) {
	s, err := statusOf(ctx, r, head)
	if err != nil {
		return Status{}, fmt.Errorf("find changes in %s: %w", r.Git.Root, err)
	}
	return s, nil
}

func statusOf(ctx context.Context, r *Repo, list func(commit string) (*Snapshot, error)) (s Status, err error) {
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
	defer tree.close()
	idx, err := r.Git.Index()
	if err != nil {
		return s, err
	}
	if list == nil {
		list = func(commit string) (*Snapshot, error) { return snapshotBy(r, idx, commit) }
	}
	base, err := list(s.Head)
	if err != nil {
		return s, err
	}
	w := newWalk(tree, idx, nil)
	w.lazy = true
	s.Left = leftOutOf(w)
	if err := w.run(ctx, rules); err != nil {
		return s, err
	}
	s.Dirty = w.differences(base)
	s.AtHead = len(s.Dirty) == 0 && !slices.ContainsFunc(idx.Entries, func(e gitdir.IndexEntry) bool { return e.AssumedUnchanged() })
	return s, nil
}

// differences compares HEAD with the index and the index with the working tree.
func (w *walk) differences(head *Snapshot) []string {
	differs := map[string]bool{}
	for path, e := range w.entries {
		if e == nil || head.files[path] != (state{e.Mode, e.Hash}) {
			differs[path] = true
		}
	}
	if len(differs) > 0 || len(head.files) != len(w.entries) {
		for path := range head.files {
			if _, ok := w.entries[path]; !ok {
				differs[path] = true
			}
		}
	}
	listed := 0 // entries whose files exist
	for i := range w.files {
		f := &w.files[i]
		if f.entry != nil {
			listed++
		}
		if f.entry == nil || !f.entry.AssumedUnchanged() && f.state != (state{f.entry.Mode, f.entry.Hash}) {
			differs[f.path] = true
		}
	}
	if listed < len(w.entries) {
		w.addMissing(differs)
	}
	for _, f := range w.refused {
		differs[f.Path+"/"] = true
	}
	var paths []string
	for path := range differs {
		if !outside(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// addMissing adds the entries whose files do not exist.
func (w *walk) addMissing(differs map[string]bool) {
	present := make(map[string]bool, len(w.files))
	for i := range w.files {
		present[w.files[i].path] = true
	}
	for path, e := range w.entries {
		if !present[path] && (e == nil || !e.AssumedUnchanged()) {
			differs[path] = true
		}
	}
}
