package gitdir

import (
	"context"
	"path/filepath"
	"slices"
)

// replace returns the index with new entries for some paths; a mode of zero removes one. All others stay as they
// are, staged content included, except those that conflict with the new ones:
// files where a directory is now, and what was in a directory that is a file now.
func (idx *Index) replace(files []IndexEntry) *Index {
	changed := make(map[string]bool, len(files)) // whether there is a new entry
	parents := map[string]bool{}
	for _, f := range files {
		changed[f.Path] = f.Mode != 0
		if f.Mode != 0 {
			for _, dir := range Parents(f.Path)[1:] {
				parents[dir] = true
			}
		}
	}
	idx = &Index{version: idx.version, Entries: slices.Clone(idx.Entries), written: idx.written}
	idx.Entries = slices.DeleteFunc(idx.Entries, func(e IndexEntry) bool {
		if _, ok := changed[e.Path]; ok || parents[e.Path] {
			return true
		}
		return slices.ContainsFunc(Parents(e.Path)[1:], func(dir string) bool { return changed[dir] })
	})
	idx.distrustRacy()
	for _, f := range files {
		if f.Mode != 0 {
			idx.Entries = append(idx.Entries, f)
		}
	}
	slices.SortFunc(idx.Entries, compareEntries)
	return idx
}

// distrustRacy marks the entries that are racy with the index as it was. With
// the newer time of the index that is about to be written they would look safe.
func (idx *Index) distrustRacy() {
	for i := range idx.Entries {
		if e := &idx.Entries[i]; idx.racy(&e.Stat) {
			e.Stat.size = 0
		}
	}
}

// LockIndex locks the index and writes into the lock its content with new entries
// for some paths; a mode of zero removes one.
func (d *Dir) LockIndex(ctx context.Context, files []IndexEntry) (*LockFile, error) {
	l, err := Lock(ctx, filepath.Join(d.Own, "index"), d.Env)
	if err != nil {
		return nil, err
	}
	idx, err := d.Index()
	if err == nil {
		err = l.Write(idx.replace(files).Encode())
	}
	if err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}
