package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/text/textcut"
)

// tree is a directory of which some files are drawn.
type tree struct {
	dirs    map[string]*tree
	files   []string
	missing int // files below that are not drawn, counted in dirs of the base only
}

// draw draws files, given relative to the base.
func (l *listing) draw(files []string) string {
	var root tree
	for _, f := range files {
		root.put(f)
		if dir, _, ok := strings.Cut(f, "/"); ok {
			l.below[dir]--
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(l.below)) {
		if n := l.below[dir]; n > 0 && (root.dirs[dir] != nil || len(root.dirs) < l.limit) {
			root.dir(dir).missing = n
		}
	}
	var b strings.Builder
	root.draw(&b, "  ")
	return b.String()
}

// put adds a file, given relative to t.
func (t *tree) put(rel string) {
	for dir, rest, ok := strings.Cut(rel, "/"); ok; dir, rest, ok = strings.Cut(rel, "/") {
		t, rel = t.dir(dir), rest
	}
	t.files = append(t.files, rel)
}

// dir returns the subdirectory of a name, creating it if needed.
func (t *tree) dir(name string) *tree {
	if t.dirs == nil {
		t.dirs = map[string]*tree{}
	}
	sub := t.dirs[name]
	if sub == nil {
		sub = &tree{}
		t.dirs[name] = sub
	}
	return sub
}

func (t *tree) draw(b *strings.Builder, indent string) {
	for _, name := range slices.Sorted(maps.Keys(t.dirs)) {
		sub := t.dirs[name]
		fmt.Fprintf(b, "%s%s/", indent, textcut.Path(name))
		if sub.missing > 0 {
			fmt.Fprintf(b, " (%d more)", sub.missing)
		}
		b.WriteByte('\n')
		sub.draw(b, indent+"  ")
	}
	slices.Sort(t.files)
	for _, name := range t.files {
		fmt.Fprintf(b, "%s%s\n", indent, textcut.Path(name))
	}
}
