// Package testcases finds tests that a change removes or skips: which files are
// tests, and which test cases and skip markers their text declares. It reads texts by
// patterns and runs nothing, so that the same change always has the same result.
package testcases

import (
	"bytes"
	"crypto/sha256"
	"path"
	"slices"
	"strings"
)

// Version is the content of a file before or after a change.
type Version struct {
	cases []string // their names in the order of the text; "" for one without
	skips int      // markers that exclude cases
	blank bool     // only white space
	sum   [sha256.Size]byte
}

// maxText is the maximum size of a text in bytes whose cases are counted.
const maxText = 1 << 20

// Read returns a version of a file. A nil text is one that is not available: it
// declares nothing, and is not empty. A text of more than 1 MiB declares nothing, either.
func Read(file string, text []byte) *Version {
	v := &Version{blank: text != nil && len(bytes.TrimSpace(text)) == 0, sum: sha256.Sum256(text)}
	if l := languageOf(file); l != nil && len(text) <= maxText && (l.anywhere || IsTest(file)) {
		v.cases, v.skips = l.count(string(text))
	}
	return v
}

// testDirs are the names of directories whose files are tests, and ignoredDirs those of
// others' code.
var (
	testDirs    = []string{"test", "tests", "__tests__", "spec", "specs", "e2e", "testdata"}
	ignoredDirs = []string{"vendor", "node_modules"}
)

// IsTest reports whether a file is a test by its name or directory.
func IsTest(file string) bool {
	dirs := strings.Split(path.Dir(file), "/")
	in := func(list []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return slices.Contains(list, dir) })
	}
	if in(ignoredDirs) {
		return false
	}
	return in(testDirs) || Named(file)
}

// Named reports whether the name of a file is that of a test, in whatever directory.
func Named(file string) bool {
	names := testNames()
	if l := languageOf(file); l != nil && l.names != nil {
		names = l.names
	}
	return names.MatchString(path.Base(file))
}
