package edit

import (
	"strings"

	"github.com/millhand/millhand/tools/merge"
)

// escapeNormalised finds old with its escapes resolved, as a model writes
// it that escapes once too often, and lines that with their escapes resolved are
// that.
func escapeNormalised(text, old string) []span {
	want := toLF(merge.Unescape(old))
	if blank(want) {
		return nil
	}
	t := newLines(text)
	n := strings.Count(want, "\n") + 1
	parts := make([]string, t.count())
	for i := range parts {
		parts[i] = merge.Unescape(t.at(i) + "\n")
	}
	return addDisjoint(occurrences(text, want), t.spans(joined(parts, want+"\n", n), n))
}
