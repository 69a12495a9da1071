// Package textcut shortens texts, and names of files: to one line, to their start, or to their start
// and end. Valid UTF-8 is cut between two
// characters. The package knows no formats: what must
// fit into JSON is cut in package tools/cut, and what is printed in package
// printable.
package textcut

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine returns the words of a text with one space between them.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Path returns the name of a file as one line of text: in quotes, with escapes, if it has control
// characters, characters that reorder text, or bytes that are not UTF-8.
func Path(name string) string {
	odd := func(r rune) bool {
		return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}
	if strings.IndexFunc(name, odd) < 0 {
		return name
	}
	var b strings.Builder
	for i, r := range name {
		switch r {
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '"', '\\':
			b.WriteString(`\` + string(r))
		case utf8.RuneError:
			if strings.HasPrefix(name[i:], string(r)) { // U+FFFD itself
				b.WriteRune(r)
			} else {
				fmt.Fprintf(&b, `\x%02x`, name[i])
			}
		default:
			if odd(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return `"` + b.String() + `"`
}

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

// List returns the first three elements of a list, and the number of the others.
func List(list []string) string { return ListOf(list, 3) }

// ListOf returns the first elements of a list, at most so many, and the number of the others.
func ListOf(list []string, most int) string {
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}
