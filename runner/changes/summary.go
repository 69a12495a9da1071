package changes

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/gitops/state"
)

// maxUntracked is the maximum number of entries in a report.
const maxUntracked = 100

// generated are names of directories that package managers and build tools fill. A report has one entry for each. Names that
// are artifacts only beside some file count, too: nothing but the length of the report depends on it.
type generated map[string]bool

func (g generated) has(name string) bool {
	found, known := g[name]
	if !known {
		found = name == ".cache" || name == ".m2" || ecosystem.NamesArtifacts(name)
		g[name] = found
	}
	return found
}

// summarize returns the entries for files, at most so many: one for each file, but only
// one for a generated directory, and for directories that would exceed the number.
func summarize(kinds map[string]state.Kind, most int) []event.Untracked {
	files := slices.Sorted(maps.Keys(kinds))
	depth, known := 0, generated{}
	for _, file := range files {
		depth = max(depth, strings.Count(file, "/"))
	}
	for ; ; depth-- {
		entries := map[string]event.Untracked{}
		for _, file := range files {
			name, kind := entryOf(file, depth, known), string(kinds[file])
			e, ok := entries[name]
			if ok && e.Kind != kind {
				kind = string(state.Modified)
			}
			entries[name] = event.Untracked{Path: name, Kind: kind, Files: e.Files + 1}
		}
		if len(entries) <= most || depth < 0 {
			var list []event.Untracked
			for _, name := range slices.Sorted(maps.Keys(entries)) {
				list = append(list, entries[name])
			}
			return list
		}
	}
}

// entryOf returns the path of the entry for a file: its own, or that of the directory
// that summarizes it, with a slash. depth is the maximum number of directories above.
func entryOf(file string, depth int, known generated) string {
	if depth < 0 {
		return "./"
	}
	dirs := strings.Split(path.Dir(file), "/")
	if path.Dir(file) == "." {
		dirs = nil
	}
	for i, name := range dirs {
		if i == depth || known.has(name) {
			return path.Join(dirs[:i+1]...) + "/"
		}
	}
	return file
}
