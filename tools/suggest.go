package tools

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/millhand/millhand/internal/workspace"
)

// missing says that a file is not there, and which might have been meant.
func missing(env *Env, p workspace.Path) error {
	near := suggestions(env, p)
	if len(near) == 0 {
		return fmt.Errorf("file not found: %s; use glob or list to find it", p.Rel)
	}
	return fmt.Errorf("file not found: %s; did you mean %s?", p.Rel, strings.Join(near, ", "))
}

// suggestions returns up to three names beside a missing file that resemble
// its own, the most alike first: one contains the other, or a few letters
// differ. What the model may not read is not among them.
func suggestions(env *Env, p workspace.Path) []string {
	dir := workspace.Path{Abs: filepath.Dir(p.Abs), Rel: path.Dir(p.Rel), Outside: p.Outside}
	entries, err := env.Workspace.ReadDir(dir)
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
		if d, ok := resemblance(want, strings.ToLower(e.Name())); ok && env.readable(name, path.Join(dir.Abs, e.Name())) {
			near = append(near, candidate{name, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range near[:min(len(near), 3)] {
		names = append(names, c.name)
	}
	return names
}

// resemblance is the number of letters in which two names differ, and whether
// that makes them alike. Names of more letters than the table is worth are only
// looked for in each other.
func resemblance(want, have string) (int, bool) {
	within := strings.Contains(have, want) || strings.Contains(want, have)
	if len(want) > 100 || len(have) > 100 {
		return 100, within
	}
	d := levenshtein.ComputeDistance(want, have)
	return d, within || d <= max(1, len(want)/4)
}
