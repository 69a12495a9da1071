package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/gitops/content"
	"github.com/millhand/millhand/internal/gitops/store"
	"github.com/millhand/millhand/internal/proc/parallel"
	"github.com/millhand/millhand/internal/text/linediff"
)

// Addition is a contiguous text that a change adds to a file.
type Addition struct {
	Path string
	Line int // first line, from 1; 0 for the content of a file that is not compared by lines
	Text string
}

// Added calls fn with all text that the changes add, in the order of the paths.
// The first error of fn is returned.
func (r *Reader) Added(ctx context.Context, cs *ChangeSet, fn func(Addition) error) error {
	return r.eachVersion(ctx, cs, func(tree *content.Tree, c Change, v versions) error {
		path, e := c.Path, cs.edits[c.Path]
		if e.after.Mode == 0 {
			return nil
		}
		if !v.known || v.binary() {
			data, err := v.after, error(nil)
			if data == nil {
				data, err = tree.ReadAll(path, e.after, e.stored)
			}
			if err != nil {
				return err
			}
			return fn(Addition{path, 0, string(data)})
		}
		after := splitLines(v.after)
		for _, d := range linediff.Compare(splitLines(v.before), after) {
			if d.ReplEnd == d.ReplStart {
				continue
			}
			if err := fn(Addition{path, d.ReplStart + 1, strings.Join(after[d.ReplStart:d.ReplEnd], "")}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Versions calls fn with the contents of the changed files before and after. A content is
// nil if the file does not exist, or is not available to be compared by lines.
func (r *Reader) Versions(ctx context.Context, cs *ChangeSet, fn func(c Change, before, after []byte)) error {
	return r.eachVersion(ctx, cs, func(_ *content.Tree, c Change, v versions) error {
		if v.after == nil && v.known && c.Kind != Deleted {
			v.after = []byte{}
		}
		fn(c, v.before, v.after)
		return nil
	})
}

func (r *Reader) eachVersion(ctx context.Context, cs *ChangeSet, fn func(*content.Tree, Change, versions) error) error {
	tree, err := r.openWorkTree(false)
	if err != nil {
		return err
	}
	defer tree.Close()
	for _, c := range cs.Changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		v, err := cs.versions(tree, c.Path)
		if err == nil {
			err = fn(tree, c, v)
		}
		if err != nil {
			return fmt.Errorf("read change of %s: %w", c.Path, err)
		}
	}
	return nil
}

// EachContent calls fn concurrently for each changed path with what it is now and its content, which is nil
// if it was deleted.
func (r *Reader) EachContent(ctx context.Context, cs *ChangeSet, fn func(path string, after store.State, file *content.File) error) error {
	tree, err := r.openWorkTree(cs.private)
	if err != nil {
		return err
	}
	defer tree.Close()
	return parallel.Each(ctx, cs.Changes, func(change Change) error {
		path := change.Path
		e, ok := cs.edits[path]
		if !ok {
			return fmt.Errorf("%s is not one of the collected changes", path)
		}
		if e.after.Mode == 0 {
			return fn(path, e.after, nil)
		}
		c, err := tree.Measured(path, e.after, e.stored)
		if err != nil {
			return err
		}
		defer c.Close()
		return fn(path, e.after, c)
	})
}

// Without returns the changes except those of some paths.
func (cs *ChangeSet) Without(paths []string) *ChangeSet {
	out := *cs
	out.Changes = slices.DeleteFunc(slices.Clone(cs.Changes), func(c Change) bool { return slices.Contains(paths, c.Path) })
	return &out
}

// Only returns the changes and refusals of the paths that keep reports.
func (cs *ChangeSet) Only(keep func(path string) bool) *ChangeSet {
	out := *cs
	out.Changes = slices.DeleteFunc(slices.Clone(cs.Changes), func(c Change) bool { return !keep(c.Path) })
	out.Refused = slices.DeleteFunc(slices.Clone(cs.Refused), func(r Refusal) bool { return !keep(r.Path) })
	return &out
}
