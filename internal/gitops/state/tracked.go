package state

import (
	"sort"
	"strings"

	"github.com/millhand/millhand/internal/gitops/gitdir"
	"github.com/millhand/millhand/internal/gitops/store"
)

// presence is what a walk met at the path of an entry of the index.
type presence uint8

const (
	absent    presence = iota // nothing, or something without the state that entries have
	unchanged                 // what the entry describes; it is not in the list of the walk
	listed                    // a file in the list of the walk
)

// span is a range of an index: its entries below a directory.
type span struct{ from, to int }

// EntryState returns the state that an entry of an index describes.
func EntryState(e *gitdir.IndexEntry) store.State { return store.State{Mode: e.Mode, Hash: e.Hash} }

// narrow returns the entries of a span below a directory.
func (w *walk) narrow(s span, dir string) span {
	prefix, entries := dir+"/", w.index.Entries[s.from:s.to]
	from := sort.Search(len(entries), func(i int) bool { return entries[i].Path >= prefix })
	entries = entries[from:]
	n := sort.Search(len(entries), func(i int) bool { return !strings.HasPrefix(entries[i].Path, prefix) })
	return span{s.from + from, s.from + from + n}
}

// position returns the first entry of the index with a name in a directory; false if it is not found.
// before is the position of another name: many file systems list names in the order of an index, or in
// reverse, so that the next one is beside it.
func (w *walk) position(d *directory, name []byte, before int) (int, bool) {
	start := d.start()
	for _, i := range [...]int{before + 1, before - 1} {
		if i >= d.tracked.from && i < d.tracked.to && w.index.Entries[i].Path[start:] == string(name) && w.only(i) != nil {
			return i, true
		}
	}
	entries := w.index.Entries[d.tracked.from:d.tracked.to]
	low, high := 0, len(entries)
	for low < high {
		middle := (low + high) / 2
		if entries[middle].Path[start:] < string(name) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return d.tracked.from + low, low < len(entries) && entries[low].Path[start:] == string(name)
}

// search returns the first entry of the index with a path; false if it is not found.
func (w *walk) search(path string) (int, bool) {
	entries := w.index.Entries
	i := sort.Search(len(entries), func(i int) bool { return entries[i].Path >= path })
	return i, i < len(entries) && entries[i].Path == path
}

// only returns an entry of the index if it is the only one of its path and not one of a conflict;
// otherwise nil.
func (w *walk) only(i int) *gitdir.IndexEntry {
	entries := w.index.Entries
	e := &entries[i]
	if !w.index.Merged() && (e.Stage() != 0 || i > 0 && entries[i-1].Path == e.Path || i+1 < len(entries) && entries[i+1].Path == e.Path) {
		return nil
	}
	return e
}

// meet records what was met at the path of an entry, which is the first of its path.
func (w *walk) meet(i int, p presence) {
	w.met[i] = p
	if w.index.Merged() {
		return
	}
	for path := w.index.Entries[i].Path; i < len(w.met) && w.index.Entries[i].Path == path; i++ {
		w.met[i] = p
	}
}

// tracks reports whether tracked paths are in a directory.
func (w *walk) tracks(d *directory) bool {
	return d.tracked.from < d.tracked.to || w.knownParents()[d.path]
}

// parentsOf returns all directories that paths are in.
func parentsOf(known map[string]store.State) map[string]bool {
	parents := map[string]bool{}
	for path := range known {
		for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
			if parents[path[:i]] {
				break
			}
			parents[path[:i]] = true
		}
	}
	return parents
}
