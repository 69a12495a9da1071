package search

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/gitops/ignore"
)

// unlisted are the directories that List also ignores, in gitignore's format: generated
// ones. Names that people also use for their own directories
// are ignored only at the path where a program would create them.
const unlisted = `node_modules/
__pycache__/
.zig-cache/
zig-out/
.idea/
.vscode/
.venv/
venv/
.cache/
.coverage/
/dist/
/build/
/target/
/vendor/
/bin/
/obj/
/coverage/
/tmp/
/temp/
/cache/
/logs/
/env/
`

// ListQuery is the input of List.
type ListQuery struct {
	Ignore []string // globs, as for Glob, of files and directories
	Limit  int      // maximum number of files; 0 means 1,000, which is also the maximum
}

// ListResult is the tree of a directory.
type ListResult struct {
	// Text has a line for each directory (with a trailing slash) and file below
	// the base, indented by two spaces per level below the base, which has
	// no line. Directories come before files. If the limit omits files,
	// the directories of the base have the number.
	Text      string
	Files     int  // in Text
	Total     int  // including those beyond the limit
	Truncated bool // the limit was exceeded
	Skipped   Skipped
}

// List draws the files below a directory as a tree. If there are more than the
// limit, it draws those nearest to the base.
//
// It fails if a glob is malformed, the base is not a directory that can be opened,
// or the context is done.
func List(ctx context.Context, scope Scope, q ListQuery) (ListResult, error) {
	unwanted, err := parseIgnore(q.Ignore)
	if err != nil {
		return ListResult{}, err
	}
	l := listing{first: first[string]{limit: clampLimit(q.Limit), order: byDepth, weight: func(string) int { return 1 }}, below: map[string]int{}}
	w := walk{scope: scope, accepts: func(rel string, isDir bool) bool { return !unwanted(rel, isDir) }}
	w.visit = func(_ context.Context, _ *directory, path string) { l.add(strings.TrimPrefix(path, w.base)) }
	top, err := w.openDir()
	if err != nil {
		return ListResult{}, err
	}
	w.leftOut = ignore.New(ignore.Parse([]byte(unlisted))) // below the base only
	if err := w.run(ctx, top); err != nil {
		return ListResult{}, fmt.Errorf("list: %w", err)
	}
	files := l.all()
	r := ListResult{Text: l.draw(files), Files: len(files), Total: l.total, Skipped: w.skipped()}
	r.Truncated = r.Total > r.Files
	return r, nil
}

// parseIgnore returns a function that reports whether a path relative to the
// base is skipped.
func parseIgnore(globs []string) (func(rel string, isDir bool) bool, error) {
	var patterns []pattern
	for _, entry := range globs {
		list, err := SplitGlobs(entry)
		if err != nil {
			return nil, err
		}
		for _, glob := range list {
			p, err := parsePattern(glob)
			if err != nil {
				return nil, err
			}
			patterns = append(patterns, p)
		}
	}
	return func(rel string, isDir bool) bool {
		for _, p := range patterns {
			if p.matches(rel, isDir) {
				return true
			}
		}
		return false
	}, nil
}

// byDepth orders paths by depth, then alphabetically.
func byDepth(a, b string) int {
	return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
}

// listing collects the files to draw.
type listing struct {
	first[string]
	mu    sync.Mutex
	below map[string]int // number of files in each directory of the base
}

// add counts a file, given relative to the base.
func (l *listing) add(rel string) {
	l.first.add(rel)
	if dir, _, ok := strings.Cut(rel, "/"); ok {
		l.mu.Lock()
		l.below[dir]++
		l.mu.Unlock()
	}
}
