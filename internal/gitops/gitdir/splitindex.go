package gitdir

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/millhand/millhand/internal/gitops/objectdb"
)

// join completes the entries of a split index (gitformat-index(5), "Split index"): those of a shared index,
// of which some are deleted and others replaced by the first entries here, which have no name.
func (idx *Index) join(split []byte, shared func(plumbing.Hash) ([]byte, error)) error {
	var name plumbing.Hash
	if len(split) < len(name) {
		return ErrDamagedIndex
	}
	copy(name[:], split)
	if name.IsZero() {
		return nil
	}
	base, err := sharedIndex(name, shared)
	if err != nil {
		return err
	}
	deleted, rest, err := parseBitmap(split[len(name):], len(base))
	if err != nil {
		return err
	}
	replaced, _, err := parseBitmap(rest, len(base))
	if err != nil || len(replaced) > len(idx.Entries) {
		return errors.Join(err, ErrDamagedIndex)
	}
	for n, at := range replaced {
		e := &idx.Entries[n]
		if e.Path != "" {
			return ErrDamagedIndex
		}
		e.Path = base[at].Path
		base[at] = *e
	}
	for _, at := range deleted {
		base[at].Path = ""
	}
	idx.Entries = withAdded(base, idx.Entries[len(replaced):])
	return nil
}

// sharedIndex returns the entries of a shared index. Its name is its checksum.
func sharedIndex(name plumbing.Hash, read func(plumbing.Hash) ([]byte, error)) ([]IndexEntry, error) {
	data, err := read(name)
	if err != nil {
		return nil, err
	}
	if len(data) < checksumSize || plumbing.Hash(data[len(data)-checksumSize:]) != name {
		return nil, ErrDamagedIndex
	}
	base, err := parseIndex(data, func(plumbing.Hash) ([]byte, error) { return nil, ErrDamagedIndex })
	if err != nil {
		return nil, err
	}
	return base.Entries, nil
}

// withAdded returns the entries of a shared index that have a name, and those that are added or replace one by
// their name.
func withAdded(base, added []IndexEntry) []IndexEntry {
	type key struct {
		path  string
		stage uint16
	}
	again := make(map[key]bool, len(added))
	for i := range added {
		again[key{added[i].Path, added[i].Stage()}] = true
	}
	all := make([]IndexEntry, 0, len(base)+len(added))
	for _, e := range base {
		if e.Path != "" && !again[key{e.Path, e.Stage()}] {
			all = append(all, e)
		}
	}
	return append(all, added...)
}

// parseBitmap reads a compressed bitmap (gitformat-bitmap(5), "Appendix A") and returns the positions of its
// ones, which must be less than a number, and the bytes after it.
func parseBitmap(data []byte, most int) (ones []int, rest []byte, err error) {
	const word, header = 8, 8
	switch {
	case len(data) == 0: // an index that changes nothing of the shared one has no bitmaps
		return nil, nil, nil
	case len(data) < header:
		return nil, nil, ErrDamagedIndex
	}
	size := uint64(binary.BigEndian.Uint32(data[4:])) * word
	if uint64(len(data)) < header+size+4 {
		return nil, nil, ErrDamagedIndex
	}
	words, rest := data[header:header+size], data[header+size+4:]
	at := 0 // position of the next bit
	for len(words) > 0 {
		marker := binary.BigEndian.Uint64(words)
		words = words[word:]
		run, literals := marker>>1&(1<<32-1), marker>>33
		if literals*word > uint64(len(words)) || run > uint64(most)/64+1 {
			return nil, nil, ErrDamagedIndex
		}
		for range run * 64 {
			if marker&1 == 1 {
				ones = append(ones, at)
			}
			at++
		}
		for range literals {
			for w := binary.BigEndian.Uint64(words); w != 0; w &= w - 1 {
				ones = append(ones, at+bits.TrailingZeros64(w))
			}
			at += 64
			words = words[word:]
		}
		if len(ones) > 0 && ones[len(ones)-1] >= most || at > most+2*64 {
			return nil, nil, ErrDamagedIndex
		}
	}
	return ones, rest, nil
}

// mostExpanded limits the entries of a sparse index: trees can contain one another billions of times.
const mostExpanded = 4_000_000

// expand replaces the directories of a sparse index (gitformat-index(5), "Sparse Directory Entries") by
// their files, which are not checked out.
func (idx *Index) expand(objects *objectdb.Objects) error {
	x := expansion{objects: objects}
	for i := range idx.Entries {
		e := &idx.Entries[i]
		if e.Mode != filemode.Dir {
			x.entries = append(x.entries, *e)
			continue
		}
		if n := len(e.Path); !e.SkipWorktree() || e.Path[n-1] != '/' {
			return ErrDamagedIndex
		}
		if err := x.add(e.Path, e.Hash, 0); err != nil {
			return err
		}
	}
	idx.Entries, idx.collapsed = x.entries, false
	return idx.order()
}

// expansion collects the entries of an index.
type expansion struct {
	objects *objectdb.Objects
	entries []IndexEntry
}

// add adds the files of a tree. The directory ends with a slash.
func (x *expansion) add(dir string, tree plumbing.Hash, depth int) error {
	list, err := x.objects.Tree(tree)
	if err != nil {
		return err
	}
	if depth > objectdb.MaxDepth || len(x.entries)+len(list) > mostExpanded {
		return &UnsupportedError{Reason: "the sparse index has too many files or directories"}
	}
	for _, f := range list {
		if f.Mode == filemode.Dir {
			if err := x.add(dir+f.Name+"/", f.Hash, depth+1); err != nil {
				return err
			}
			continue
		}
		mode := f.Mode
		if mode == filemode.Deprecated {
			mode = filemode.Regular
		}
		x.entries = append(x.entries, IndexEntry{Path: dir + f.Name, Mode: mode, Hash: f.Hash, extended: extendedSkipWorktree})
	}
	return nil
}
