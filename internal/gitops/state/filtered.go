package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/store"
)

// Converted are files of a commit with a filter (Git LFS is one) or an encoding.
type Converted struct {
	Filter, Encoding string   // one of them
	Paths            []string // the first ones, sorted
}

// mostConverted is the maximum number of paths in a Converted.
const mostConverted = 4

// Converted returns the files of a commit whose attributes name a filter or an encoding,
// by filter and encoding. Attributes come from the commit's .gitattributes files and from system and
// repository configuration. Only files below the directory below ("" is the root) for which except returns
// false are returned.
func (r *Reader) Converted(ctx context.Context, commit, below string, except func(path string) bool) ([]Converted, error) {
	found, err := r.converted(ctx, commit, below, except)
	if err != nil {
		return nil, fmt.Errorf("find paths with filters in commit %s: %w", commit, err)
	}
	return found, nil
}

func (r *Reader) converted(ctx context.Context, commit, below string, except func(path string) bool) ([]Converted, error) {
	w, err := content.NewCommitAttributes(r.Git)
	if err != nil {
		return nil, err
	}
	files, err := r.noteAttributes(w, commit)
	if err != nil {
		return nil, err
	}
	if !w.Converts {
		return nil, nil
	}
	var found []Converted
	for _, path := range files.Paths() {
		if !content.IsPlain(files.ByPath()[path].Mode) || !IsBelow(path, below) || content.Outside(path) {
			continue
		}
		a := w.Attributes(path)
		one := Converted{Encoding: content.EncodingOf(a)}
		if one.Encoding == "" {
			one.Filter = content.FilterOf(a)
		}
		if one.Filter+one.Encoding == "" || except(path) {
			continue
		}
		at := slices.IndexFunc(found, func(c Converted) bool { return c.Filter == one.Filter && c.Encoding == one.Encoding })
		if at < 0 {
			at, found = len(found), append(found, one)
		}
		if c := &found[at]; len(c.Paths) < mostConverted {
			c.Paths = append(c.Paths, path)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// noteAttributes reads the attribute files of a commit, and returns its files. They are found by the index,
// without a map of all files, if that has exactly those of the commit.
func (r *Reader) noteAttributes(w *content.CommitAttributes, commit string) (*Snapshot, error) {
	if idx, err := r.Git.Index(); err == nil && !r.Git.Bare() {
		s, err := r.listingBy(idx, commit)
		if err != nil {
			return nil, err
		}
		if s != nil {
			for i := range idx.Entries {
				if err := w.Note(idx.Entries[i].Path, store.State{Mode: idx.Entries[i].Mode, Hash: idx.Entries[i].Hash}); err != nil {
					return nil, err
				}
			}
			return s, nil
		}
	}
	files, err := r.SnapshotOf(commit)
	if err != nil {
		return nil, err
	}
	for path, at := range files.ByPath() {
		if err := w.Note(path, at); err != nil {
			return nil, err
		}
	}
	return files, nil
}
