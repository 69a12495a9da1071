// Package printable makes untrusted text safe to print on a terminal and in a
// CI's log, and to post on a forge. It does not remove secrets: package redact does.
package printable

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// styles matches the sequences of terminals for colors and styles, and the one that clears
// the rest of a line, which programs write together with them.
var styles = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;:]*[mK]`) })

// Unstyled returns s without colors and styles of a terminal. Other control sequences
// stay.
func Unstyled(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	return styles().ReplaceAllString(s, "")
}

// Width is the maximum length of a message in one line of a log or a table, in
// characters.
const Width = 160

// Text makes text safe for a terminal and a CI's log: it removes styles, makes control characters and
// characters that reorder text visible, and breaks the commands of CIs. Text of a model
// or a repository can't move the cursor or issue commands.
func Text(s string) string {
	s = Disarm(Unstyled(s))
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

// Line is like Text, but without line breaks and truncated to n characters.
func Line(s string, n int) string {
	s = strings.Join(strings.Fields(Text(s)), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Fence returns a fence for a Markdown code block with a text: longer than any run of
// backticks in it.
func Fence(s string) string {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", max(3, longest+1))
}
