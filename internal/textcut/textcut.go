// Package textcut shortens texts: to one line, to their start, or to their start
// and end. Valid UTF-8 is cut between two
// characters. The package knows no formats: what must
// fit into JSON is cut in package tools, and what is printed in package
// printable.
package textcut

import (
	"strings"
	"unicode/utf8"
)

// OneLine returns the words of a text with one space between them.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Head returns a text of at most n bytes as it is, and else its first n bytes
// at most, followed by the mark.
func Head(s string, n int, mark string) string {
	if len(s) <= n {
		return s
	}
	return start(s, n) + mark
}

// Ends returns a text of at most head+tail bytes as it is, and else its first
// head and last tail bytes at most, with the mark between.
func Ends(s string, head, tail int, mark string) string {
	if len(s) <= head+tail {
		return s
	}
	at := len(s) - tail
	for i := 1; i < utf8.UTFMax && at < len(s) && !utf8.RuneStart(s[at]); i++ {
		at++
	}
	return start(s, head) + mark + s[at:]
}

// start returns the first n bytes of a longer text, less those of a character
// that does not fit.
func start(s string, n int) string {
	for i := 1; i < utf8.UTFMax && n > 0 && !utf8.RuneStart(s[n]); i++ {
		n--
	}
	return s[:n]
}
