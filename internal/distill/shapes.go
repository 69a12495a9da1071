package distill

import (
	"bytes"
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/patterns"
)

// SameShapes reports whether two patches of the same base make the same kinds of edits, each equally
// often, in the same files. They can differ in the names of variables and the order of
// imports, for example. It is false for patches that are too large to compare.
func SameShapes(a, b []byte) bool {
	x, known := shapesOf(a)
	y, alsoKnown := shapesOf(b)
	return known && alsoKnown && maps.Equal(x, y) && slices.Equal(filesOf(a), filesOf(b))
}

// shapesOf counts the edits of a patch by shape and language; false if some of it is unknown.
func shapesOf(patch []byte) (edits map[[2]string]int, known bool) {
	var c patterns.Collector
	c.Add(patterns.Change{Job: "job", Repo: "repo"}, bytes.NewReader(patch))
	r := c.Result()
	edits = map[[2]string]int{}
	for _, p := range r.Patterns {
		edits[[2]string{p.Shape, p.Language}] += p.Edits
	}
	known = !slices.ContainsFunc(r.Reading, func(read patterns.Reading) bool {
		return slices.ContainsFunc(read.Reasons, func(reason patterns.Reason) bool {
			return reason.Kind == patterns.Unread || reason.Kind == patterns.Binary
		})
	})
	return edits, known && len(edits) > 0
}

// filesOf returns the headers of the files in a patch, sorted.
func filesOf(patch []byte) []string {
	var files []string
	for line := range bytes.Lines(patch) {
		if bytes.HasPrefix(line, []byte("diff --git ")) {
			files = append(files, string(bytes.TrimRight(line, "\n")))
		}
	}
	slices.Sort(files)
	return files
}
