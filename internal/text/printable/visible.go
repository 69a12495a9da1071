package printable

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/text/textcut"
)

// Hidden is [textcut.Hidden].
func Hidden(r rune) bool { return textcut.Hidden(r) }

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
