package manifest

import (
	"fmt"

	"github.com/millhand/millhand/tasks/form"
)

// Definition is something that a manifest defines for all jobs, as a key
// with its value. The same may stand in several manifests.
type Definition[T any] struct {
	form.Value
	Title  string // its name in messages, unique among others
	Digest string // of its content, the same on every machine
	Is     T
}

// Gather returns what manifests define, each thing once. It records what two of
// them define differently.
func Gather[T any](manifests []*Manifest, of func(*Manifest) []Definition[T]) []Definition[T] {
	var all []Definition[T]
	first := map[string]Definition[T]{}
	for _, m := range manifests {
		for _, d := range of(m) {
			before, twice := first[d.Title]
			switch {
			case !twice:
				first[d.Title] = d
				all = append(all, d)
			case before.Digest != d.Digest:
				d.KeyProblem(fmt.Sprintf("the %s differs from the one at %s", d.Title, before.RuleSource()), "make them equal, or rename one of them")
			}
		}
	}
	return all
}

// Digests returns what identifies definitions.
func Digests[T any](all []Definition[T]) []string {
	out := make([]string, len(all))
	for i, d := range all {
		out[i] = d.Title + " " + d.Digest
	}
	return out
}
