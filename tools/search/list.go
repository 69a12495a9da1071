package search

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/millhand/millhand/internal/ignore"
)

// unlisted are the directories that List leaves out, in gitignore's format: what
// programs make, not what people write. Names that people also give to directories
// of their own are left out only where a program would make them.
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
	// Text has a line for each directory (with a slash at its end) and file below
	// the base, indented by two spaces for each level from the base, which has
	// no line, on. Directories come before files. Where the limit leaves files
	// out, the directories of the base say how many.
	Text      string
	Files     int  // in Text
	Total     int  // including those beyond the limit
	Truncated bool // the limit was exceeded
	Skipped   Skipped
}

// List draws the files below a directory as a tree. If there are more than the
// limit, those nearest to the base are drawn.
//
// It fails if a glob is malformed, the base is not a directory that can be opened,
// or the context is done.
func List(ctx context.Context, scope Scope, q ListQuery) (ListResult, error) {
	leftOut, err := parseIgnore(q.Ignore)
	if err != nil {
		return ListResult{}, err
	}
	l := listing{first: first[string]{limit: clampLimit(q.Limit), order: byDepth, weight: func(string) int { return 1 }}, below: map[string]int{}}
	w := walk{scope: scope, accepts: func(rel string, isDir bool) bool { return !leftOut(rel, isDir) }}
	w.visit = func(_ context.Context, f *directory, name string) { l.add(strings.TrimPrefix(f.path+name, w.base)) }
	top, err := w.openDir()
	if err != nil {
		return ListResult{}, err
	}
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
	patterns := []pattern{{ignore.New(ignore.Parse([]byte(unlisted)))}}
	for _, glob := range globs {
		p, err := parsePattern(glob)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
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

// byDepth orders paths by how many directories they are in, then by their letters.
func byDepth(a, b string) int {
	return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
}

// listing gathers the files to draw.
type listing struct {
	first[string]
	mu    sync.Mutex
	below map[string]int // how many files each directory of the base holds
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
