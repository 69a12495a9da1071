package state

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
	for _, d := range diffLines(splitLines(v.before), splitLines(v.after)) {
		added += d.ReplEnd - d.ReplStart
		removed += d.End - d.Start
	}
	return added, removed, false
}
