package edit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// whitespaceNormalised finds old where runs of white space stand for each
// other: whole lines, parts of a line, and as many lines as old has, line
// breaks being white space too.
func whitespaceNormalised(text, old string) []span {
	t := newLines(text)
	want := normal(old)
	plain := make([]string, t.count())
	var spans []span
	for i := range plain {
		plain[i] = normal(t.at(i))
		switch {
		case plain[i] == want:
			spans = append(spans, t.span(i, 1))
		case strings.Contains(plain[i], want):
			spans = append(spans, within(t.at(i), t.starts[i], plain[i], want)...)
		}
	}
	n := strings.Count(old, "\n") + 1
	if n == 1 {
		return spans
	}
	return addDisjoint(spans, t.spans(joined(words(plain), " "+want, n), n))
}

// normal returns a text with whitespace collapsed to single spaces, and
// trimmed.
func normal(s string) string { return strings.Join(strings.Fields(s), " ") }

// words returns lines so that joined they have a space between them, and none
// for a blank one.
func words(plain []string) []string {
	out := make([]string, len(plain))
	for i, s := range plain {
		if s != "" {
			out[i] = " " + s
		}
	}
	return out
}

// within returns the places in a line, which begins at an offset of the text,
// whose normal form is old of the line's.
func within(line string, offset int, plain, want string) []span {
	at := positions(line, len(plain))
	var spans []span
	for _, s := range occurrences(plain, want) {
		spans = append(spans, span{offset + at[s.start], offset + at[s.end-1] + 1})
	}
	return spans
}

// positions returns for each byte of a line's normal form, which has n, where in
// the line it comes from; a space from the start of its white space.
func positions(line string, n int) []int {
	at := make([]int, 0, n)
	space := -1
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case unicode.IsSpace(r) && space < 0:
			space = i
		case unicode.IsSpace(r):
		default:
			if space >= 0 && len(at) > 0 {
				at = append(at, space)
			}
			space = -1
			for j := range size {
				at = append(at, i+j)
			}
		}
		i += size
	}
	return at
}
