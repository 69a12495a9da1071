package search

import (
	"context"
	"fmt"
)

// GlobResult is the result of Glob.
type GlobResult struct {
	Files     []File // newest first, then by path
	Total     int    // number of files, including those beyond the limit
	Truncated bool   // the limit was exceeded
	Skipped   Skipped
}

// Glob returns the newest files below a directory whose paths match a pattern, at most
// limit; 0 means 1,000, which is also the maximum.
//
// Patterns are those of gitignore with braces, as in ripgrep's --glob.
// Without a slash the pattern matches file names at any depth, with a slash paths
// relative to the base; a leading "/" or "./" only anchors it, a trailing "/"
// matches all files below, and a leading "!" negates it. A comma separates patterns, of which
// the last that matches decides.
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
	w.visit = func(_ context.Context, f *directory, path string) {
		info, err := f.lstat(f.name(path))
		if err == nil && !info.kind.IsRegular() {
			err = errSpecial
		}
		if err != nil {
			w.note(err)
			return
		}
		found.add(File{Path: path, ModTime: info.mod, Size: info.size})
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
