package edit

import (
	"strings"
	"unicode"
)

// indentationFlexible finds lines that are those of old moved to the left
// or right as a whole. It finds less than lineTrimmed, and so distinguishes blocks
// that differ in their inner indentation only.
func indentationFlexible(text, old string) []span {
	t, o := newLines(text), newLines(old)
	want := margin(o, 0, o.count())
	var spans []span
	left := maxWork
	for _, i := range number(t, o).windows() {
		if left -= 8 * o.count(); left < 0 {
			return nil
		}
		if sameShape(t, i, o, want) {
			spans = append(spans, t.span(i, o.count()))
		}
	}
	return spans
}

// sameShape reports whether the lines from i on are those of old, each
// without the white space that all have.
func sameShape(t lines, i int, o lines, want int) bool {
	have := margin(t, i, o.count())
	for j := range o.count() {
		a, b := t.at(i+j), o.at(j)
		if blank(a) && blank(b) {
			continue
		}
		if a[have:] != b[want:] {
			return false
		}
	}
	return true
}

// margin is the white space in bytes that n lines from line i on at least begin
// with, blank ones apart.
func margin(l lines, i, n int) int {
	least := -1
	for j := range n {
		line := l.at(i + j)
		if blank(line) {
			continue
		}
		indent := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
		if least < 0 || indent < least {
			least = indent
		}
	}
	return max(least, 0)
}
