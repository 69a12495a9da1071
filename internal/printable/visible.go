package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/lazyregexp"
)

// Hidden reports whether a character is invisible or changes how others are displayed:
// control characters except tab and newline, direction marks and similar. It excludes
// the two joiners, which scripts and emoji need.
func Hidden(r rune) bool {
	if ' ' <= r && r <= '~' {
		return false
	}
	switch r {
	case '\t', '\n', '\u200c', '\u200d':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// escapes matches the control sequences of terminals, whole.
var escapes = lazyregexp.New(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|.)`)

// Plain returns a text for titles and commit messages, without control sequences of terminals and
// hidden characters.
func Plain(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	if !strings.ContainsFunc(s, Hidden) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if Hidden(r) {
			return -1
		}
		return r
	}, escapes.ReplaceAllString(s, ""))
}

// Visible removes styles and makes hidden characters visible: control characters as control pictures,
// others as their code point. Line endings become newlines.
func Visible(s string) string {
	s = strings.ReplaceAll(Unstyled(s), "\r\n", "\n")
	if utf8.ValidString(s) && !strings.ContainsFunc(s, Hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // invalid UTF-8 becomes U+FFFD
		switch {
		case !Hidden(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
