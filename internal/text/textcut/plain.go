package textcut

import (
	"regexp"
	"strings"
	"unicode"
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

// escapes matches complete control sequences of terminals.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|.)`)

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
