package house

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocCommentsStateWhatAPackageLeavesToOthers looks for a negation: without one, a reader can't know where the
// package ends, and which package does the rest.
func TestDocCommentsStateWhatAPackageLeavesToOthers(t *testing.T) {
	negation := regexp.MustCompile(`(?i)\b(not|no|nothing|neither|never|only)\b`)
	for dir, files := range sources(t) {
		if outsideWings(dir) {
			continue
		}
		var doc strings.Builder
		for _, name := range slices.Sorted(maps.Keys(files)) {
			doc.WriteString(files[name].Doc.Text())
		}
		if !negation.MatchString(doc.String()) {
			t.Errorf("the doc comment of %s does not state what the package does not do, or leaves to others:\n%s", dir, doc.String())
		}
	}
}
