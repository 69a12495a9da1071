package access

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/text/textcut"
)

// NotFound returns the error for a missing file, with suggestions.
func (a *Paths) NotFound(p workspace.Path) error {
	near := a.suggestions(p)
	if len(near) == 0 {
		return fmt.Errorf("file not found: %s; use glob or list to find it", p)
	}
	return fmt.Errorf("file not found: %s; did you mean %s?", p, strings.Join(near, ", "))
}

// suggestions returns up to three files in the directory of a missing file with
// similar names, the most similar first: one name contains the other, or a few
// letters differ. Files that the model may not read are not suggested.
func (a *Paths) suggestions(p workspace.Path) []string {
	dir := workspace.Path{Abs: filepath.Dir(p.Abs), Rel: path.Dir(p.Rel), Outside: p.Outside}
	entries, err := a.Workspace.ReadDir(dir)
	if err != nil {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	want := strings.ToLower(path.Base(p.Rel))
	for _, e := range entries {
		name := path.Join(dir.Rel, e.Name())
		if d, ok := resemblance(want, strings.ToLower(e.Name())); ok && a.Readable(name, path.Join(dir.Abs, e.Name())) {
			near = append(near, candidate{name, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range near[:min(len(near), 3)] {
		names = append(names, textcut.Path(c.name))
	}
	return names
}

// resemblance returns the edit distance of two names and whether they are
// similar. Names of more than 100 letters are only searched in each other,
// without a distance.
func resemblance(want, have string) (int, bool) {
	within := strings.Contains(have, want) || strings.Contains(want, have)
	if len(want) > 100 || len(have) > 100 {
		return 100, within
	}
	d := levenshtein.ComputeDistance(want, have)
	return d, within || d <= max(1, len(want)/4)
}
