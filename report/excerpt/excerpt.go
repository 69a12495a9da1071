// Package excerpt shortens texts for the formats of a report, with a notice that report.json has all of them. It escapes nothing.
package excerpt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Head truncates a text to limit bytes, with a notice.
func Head(s string, limit int) string {
	s = Encoded(s)
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d more bytes in report.json)", s[:cut], len(s)-cut)
}

// Tail is like [Head], but keeps the end.
func Tail(s string, limit int) string {
	s = Encoded(s)
	if len(s) <= limit {
		return s
	}
	cut := len(s) - limit
	for cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut++
	}
	return fmt.Sprintf("(%d bytes before this in report.json) …%s", cut, s[cut:])
}

// Encoded replaces invalid UTF-8 like a round trip through JSON, so that truncation does
// not depend on the origin of a text.
func Encoded(s string) string {
	return strings.Map(func(r rune) rune { return r }, s)
}
