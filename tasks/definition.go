package tasks

import (
	"fmt"

	"github.com/millhand/millhand/tasks/form"
)

// definition is something that a manifest defines for all jobs, as a key
// with its value. The same may stand in several manifests.
type definition[T any] struct {
	form.Value
	title  string // its name in messages, unique among others
	digest string // of its content, the same on every machine
	is     T
}

// gather returns what manifests define, each thing once. It records what two of
// them define differently.
func gather[T any](manifests []*manifest, of func(*manifest) []definition[T]) []definition[T] {
	var all []definition[T]
	first := map[string]definition[T]{}
	for _, m := range manifests {
		for _, d := range of(m) {
			before, twice := first[d.title]
			switch {
			case !twice:
				first[d.title] = d
				all = append(all, d)
			case before.digest != d.digest:
				d.KeyProblem(fmt.Sprintf("the %s differs from the one at %s", d.title, before.RuleSource()), "make them equal, or rename one of them")
			}
		}
	}
	return all
}

// digests returns what identifies definitions.
func digests[T any](all []definition[T]) []string {
	out := make([]string, len(all))
	for i, d := range all {
		out[i] = d.title + " " + d.digest
	}
	return out
}
