package form

// Definition is something that a manifest defines for all jobs, as a key
// with its value. The same may stand in several manifests.
type Definition[T any] struct {
	Value  Value
	Title  string // its name in messages, unique among others
	Digest string // of its content, the same on every machine
	Paths  string // what its paths are on this machine
	Is     T
}

// Digests returns what identifies definitions.
func Digests[T any](all []Definition[T]) []string {
	out := make([]string, len(all))
	for i, d := range all {
		out[i] = d.Title + " " + d.Digest
	}
	return out
}
