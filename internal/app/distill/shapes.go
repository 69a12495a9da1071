package distill

import (
	"bytes"
	"maps"
	"slices"

	"github.com/millhand/millhand/internal/app/patterns"
)

// SameShapes reports whether two patches of the same base make the same kinds of edits, each equally
// often, in as many lines of the same files. They can differ in the names of variables and the order of
// imports, for example. It is false for patches that are too large to compare.
func SameShapes(a, b []byte) bool {
	x, known := shapesOf(a)
	y, alsoKnown := shapesOf(b)
	return known && alsoKnown && maps.Equal(x, y) && maps.Equal(linesOf(a), linesOf(b))
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

// linesOf returns, for each file of a patch, its name with the number of added and of removed lines,
// and of those that end with CR LF: shapes leave out what lexers skip.
func linesOf(patch []byte) map[string][3]int {
	files, file := map[string][3]int{}, ""
	for line := range bytes.Lines(patch) {
		n := files[file]
		switch {
		case bytes.HasPrefix(line, []byte("diff --git ")):
			file = string(line)
			n = [3]int{}
		case bytes.HasPrefix(line, []byte("+++ ")), bytes.HasPrefix(line, []byte("--- ")):
		case line[0] == '+':
			n[0]++
		case line[0] == '-':
			n[1]++
		}
		if (line[0] == '+' || line[0] == '-') && bytes.HasSuffix(line, []byte("\r\n")) {
			n[2]++
		}
		files[file] = n
	}
	return files
}
