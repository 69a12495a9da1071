package state

import (
	"bytes"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/text/linediff"
)

// firstBytes is how much of a file git checks to detect binary content.
const firstBytes = 8000

func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), firstBytes)], 0) >= 0
}

// splitLines splits a text into lines, each with its newline if it has one.
func splitLines(data []byte) []string {
	return slices.Collect(strings.Lines(string(data)))
}

// versions are the contents of a path before and after a change. They are
// missing if a file is too large to be compared by lines, or if the old content
// is no longer available.
type versions struct {
	before, after   []byte
	known           bool // both are complete
	beforeAvailable bool
	opaque          bool // excluded from diffs by attributes
	text            bool // counted by lines by attributes, whatever it contains
}

// binary reports whether a change is not shown by lines.
func (v versions) binary() bool {
	return v.opaque || !v.known || isBinary(v.before) || isBinary(v.after)
}

// count returns how many lines were added and removed.
func (v versions) count() (added, removed int, binary bool) {
	if v.binary() && !(v.text && v.known) {
		return 0, 0, true
	}
	for _, d := range linediff.Compare(splitLines(v.before), splitLines(v.after)) {
		added += d.ReplEnd - d.ReplStart
		removed += d.End - d.Start
	}
	return added, removed, false
}
