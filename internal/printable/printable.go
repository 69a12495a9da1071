// Package printable makes untrusted text safe to print on a terminal and in a
// CI's log. It does not remove secrets: package redact does.
package printable

import (
	"regexp"
	"strings"
	"unicode"
)

// commandForms are the workflow commands that a GitHub runner obeys: "::" at the
// beginning of a line, white space aside, and "##[" anywhere, with or without
// characters in them that do not show.
var commandForms = regexp.MustCompile(`(?m)^([\s\p{Z}\p{C}\p{M}]*:[\p{C}\p{M}]*):|#[\p{C}\p{M}]*#[\p{C}\p{M}]*\[`)

// Width is how much of a message one line of a log or a table shows, in
// characters.
const Width = 160

// Text makes text safe for a terminal and a CI's log: control characters
// and those that reorder text become visible, and workflow commands are broken,
// so that nothing a model or a repository wrote can move the cursor or speak to
// the CI.
func Text(s string) string {
	s = commandForms.ReplaceAllStringFunc(s, func(found string) string {
		last := len(found) - 1
		return found[:last] + " " + found[last:]
	})
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d': // scripts and emoji need the joiners
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Line is printable text without line ends, shortened to n characters.
func Line(s string, n int) string {
	s = strings.Join(strings.Fields(Text(s)), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
