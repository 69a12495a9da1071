package gitops

import (
	"slices"
)

// replace gives the index new entries for some paths. All others stay as they
// are, staged content included, but for those that can't stand beside the new ones:
// files where a directory is now, and what was in a directory that is a file now.
func (idx *index) replace(files []fileEntry) {
	changed := make(map[string]bool, len(files)) // whether there is a new entry
	parents := map[string]bool{}
	for _, f := range files {
		changed[f.path] = f.mode != 0
		if f.mode != 0 {
			for _, dir := range directoriesOf(f.path)[1:] {
				parents[dir] = true
			}
		}
	}
	idx.entries = slices.DeleteFunc(idx.entries, func(e indexEntry) bool {
		if _, ok := changed[e.path]; ok || parents[e.path] {
			return true
		}
		return slices.ContainsFunc(directoriesOf(e.path)[1:], func(dir string) bool { return changed[dir] })
	})
	idx.distrustRacy()
	for _, f := range files {
		if f.mode != 0 {
			idx.entries = append(idx.entries, indexEntry{path: f.path, mode: f.mode, hash: f.hash, stat: f.stat})
		}
	}
	slices.SortFunc(idx.entries, compareEntries)
}

// distrustRacy marks the entries that are racy with the index as it was. With
// the newer time of the index that is about to be written they would look safe.
func (idx *index) distrustRacy() {
	for i := range idx.entries {
		if e := &idx.entries[i]; idx.racy(&e.stat) {
			e.stat.size = 0
		}
	}
}
