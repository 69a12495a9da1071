package testcases

import (
	"regexp"
	"slices"
	"strings"
)

// lexis is what is not code in a language: comments and strings.
type lexis struct {
	line      []string // starts of comments that end with the line
	not       string   // what looks like one
	open, end string   // of other comments; "" for none
	nests     bool     // comments contain comments
	quotes    []quote  // the longest first
}

// quote is a kind of string.
type quote struct {
	open, end string
	raw       bool // without escapes
	lines     bool // may contain line breaks
}

// char is a character in quotes, which may also be a lifetime in Rust.
var char = quote{open: "'"}

var charForm = regexp.MustCompile(`^'(?:\\[^\n]{1,10}?|[^'\\\n])'`)

// mask replaces comments and the contents of strings by spaces. The result has the same
// length, and the same line breaks. A string that may not contain a line break ends at
// one, and a comment or string without an end is only that of its line, so that what is
// misread has no effect on other lines.
func (l lexis) mask(text string) string { return l.fill(text, ' ') }

// fill replaces comments by spaces, and the contents of strings by a byte.
func (l lexis) fill(text string, content byte) string {
	m := masking{lexis: l, text: text, endless: map[string]bool{}}
	out := []byte(text)
	for i := 0; i < len(text); {
		from, to, next := m.skip(i)
		by := content
		if from == i {
			by = ' ' // a comment has no quote before it
		}
		for ; from < to; from++ {
			if out[from] != '\n' {
				out[from] = by
			}
		}
		i = next
	}
	return string(out)
}

// masking is a text that is being masked.
type masking struct {
	lexis
	text    string
	endless map[string]bool // starts of comments and strings whose end was not found
}

// skip returns what to replace at an index, and the index to continue at.
func (m masking) skip(i int) (from, to, next int) {
	rest := m.text[i:]
	starts := func(s string) bool { return strings.HasPrefix(rest, s) }
	switch {
	case m.not != "" && starts(m.not):
		return i, i, i + len(m.not)
	case slices.ContainsFunc(m.line, starts):
		end := i + lineEnd(rest)
		return i, end, end
	case m.open != "" && starts(m.open):
		n, closed := 0, false
		if !m.endless[m.open] {
			n, closed = m.comment(rest)
		}
		if !closed {
			m.endless[m.open] = true
			n = max(len(m.open), lineEnd(rest))
		}
		return i, i + n, i + n
	}
	at := slices.IndexFunc(m.quotes, func(q quote) bool { return starts(q.open) })
	if at < 0 {
		return i, i, i + 1
	}
	q := m.quotes[at]
	if q.end == "" {
		n := max(1, len(charForm.FindString(rest)))
		return i + 1, i + n - 1, i + n
	}
	first := i + len(q.open)
	n, closed := 0, false
	if !m.endless[q.open] {
		n, closed = q.length(m.text[first:])
	}
	if !closed {
		m.endless[q.open] = q.lines
		n = lineEnd(m.text[first:])
		return first, first + n, first + n
	}
	return first, first + n, first + n + len(q.end)
}

func lineEnd(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// comment returns the length of the comment that a text starts with, and whether its end
// was found.
func (l lexis) comment(s string) (n int, closed bool) {
	depth, i := 1, len(l.open)
	for i < len(s) && depth > 0 {
		switch {
		case strings.HasPrefix(s[i:], l.end):
			depth--
			i += len(l.end)
		case l.nests && strings.HasPrefix(s[i:], l.open):
			depth++
			i += len(l.open)
		default:
			i++
		}
	}
	return i, depth == 0
}

// length returns the length of a string's content, and whether its end was found.
func (q quote) length(s string) (n int, closed bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\n' && !q.lines:
			return i, false
		case s[i] == '\\' && !q.raw && i+1 < len(s) && (q.lines || s[i+1] != '\n'):
			i++
		case strings.HasPrefix(s[i:], q.end):
			return i, true
		}
	}
	return len(s), false
}
