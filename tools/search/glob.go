package search

import (
	"context"
	"fmt"
)

// GlobResult is the result of Glob.
type GlobResult struct {
	Files     []File // newest first, those of the same time by path
	Total     int    // number of files, including those beyond the limit
	Truncated bool   // the limit was exceeded
	Skipped   Skipped
}

// Glob finds the files below a directory whose paths match a pattern, and returns
// the newest of them; a limit of 0 stands for 1,000, which is also the most.
//
// A pattern is one of gitignore with braces, as ripgrep's --glob takes them.
// Without a slash it matches the last name at any depth, with one the path
// relative to the base; "/" or "./" at its start only anchors it there, "/" at
// its end means all below, and "!" before it all files that do not match.
//
// It fails if the pattern is malformed, the base is not a directory that can be
// opened, or the context is done.
func Glob(ctx context.Context, scope Scope, pattern string, limit int) (GlobResult, error) {
	return glob(ctx, scope, pattern, clampLimit(limit))
}

func glob(ctx context.Context, scope Scope, pattern string, limit int) (GlobResult, error) {
	want, err := parseFilter(pattern)
	if err != nil {
		return GlobResult{}, err
	}
	found := first[File]{limit: limit, order: newestFirst, weight: func(File) int { return 1 }}
	w := walk{scope: scope, accepts: want.accepts}
	w.visit = func(_ context.Context, f *directory, name string) {
		info, err := statAt(f.root, f.dir, name)
		if err != nil {
			w.note(err)
			return
		}
		found.add(File{Path: f.path + name, ModTime: info.mod, Size: info.size})
	}
	top, err := w.openDir()
	if err != nil {
		return GlobResult{}, err
	}
	if err := w.run(ctx, top); err != nil {
		return GlobResult{}, fmt.Errorf("search for %s: %w", pattern, err)
	}
	files := found.all()
	return GlobResult{Files: files, Total: found.total, Truncated: found.total > len(files), Skipped: w.skipped()}, nil
}
