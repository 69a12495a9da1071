package printable

import "strings"

// Plain formats a text as one line for a terminal, without hidden characters.
func Plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case Hidden(r):
			return -1
		}
		return r
	}, Unstyled(s))
	return Disarm(strings.TrimSpace(s))
}
