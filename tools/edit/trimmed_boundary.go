package edit

import "strings"

// trimmedBoundary finds old without its surrounding whitespace, if it has
// any.
func trimmedBoundary(text, old string) []span {
	want := strings.TrimSpace(old)
	if want == old || want == "" {
		return nil
	}
	return occurrences(text, want)
}
