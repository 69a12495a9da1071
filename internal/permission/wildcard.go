package permission

import (
	"strings"
	"unicode/utf8"
)

// Match reports whether pattern matches all of subject. In a pattern, "*"
// matches any sequence of characters, including "/" and newlines, and "?"
// matches any single character; nothing else is special. Matching is
// case-sensitive. A pattern that ends in " *" also matches without that suffix,
// so that "git *" covers "git". Backslashes in both count as slashes.
func Match(pattern, subject string) bool {
	pattern = strings.ReplaceAll(pattern, `\`, "/")
	subject = strings.ReplaceAll(subject, `\`, "/")
	if head, ok := strings.CutSuffix(pattern, " *"); ok && glob(head, subject) {
		return true
	}
	return glob(pattern, subject)
}

// glob runs in O(len(pattern) * len(subject)): after a mismatch it backtracks
// only to the last "*", because an earlier one can match nothing that the last
// could not. It does not allocate, because searches call it for every file of a
// tree.
func glob(pattern, subject string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(subject) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && pattern[i] == '?':
			i++
			j += runeLen(subject[j:])
		case i < len(pattern) && pattern[i] == subject[j]:
			i++
			j++
		case star >= 0:
			mark += runeLen(subject[mark:])
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}

// runeLen returns the number of bytes of the first character.
func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// mayMatch reports whether a pattern matches a subject for some value of its
// NULs.
func mayMatch(pattern, open string) bool {
	pattern, open = strings.ReplaceAll(pattern, `\`, "/"), strings.ReplaceAll(open, `\`, "/")
	if head, ok := strings.CutSuffix(pattern, " *"); ok && mayGlob(head, open) {
		return true
	}
	return mayGlob(pattern, open)
}

// mayGlob processes the pattern with the set of reachable positions in the
// subject.
func mayGlob(pattern, open string) bool {
	at := make([]bool, len(open)+1)
	at[0] = true
	spread(at, open, false)
	for _, c := range []byte(pattern) {
		next := make([]bool, len(open)+1)
		for j, here := range at {
			switch {
			case !here:
			case c == '*':
				next[j] = true
			case j == len(open):
			case open[j] == 0: // it matches the character, and possibly more
				next[j] = true
			case c == '?' || c == open[j]:
				next[j+1] = true
			}
		}
		spread(next, open, c == '*')
		at = next
	}
	return at[len(open)]
}

// spread adds the positions reachable without consuming the pattern: after a
// NUL, and, within a star, all following ones.
func spread(at []bool, open string, star bool) {
	for j := range len(open) {
		at[j+1] = at[j+1] || at[j] && (star || open[j] == 0 || open[j] >= utf8.RuneSelf)
	}
}

// mustMatch reports whether a pattern matches a subject for every value of its
// NULs; only a star can match any value.
func mustMatch(pattern, open string) bool {
	return Match(pattern, open) && // nearly none does
		Match(pattern, strings.ReplaceAll(open, "\x00", "")) && Match(pattern, strings.ReplaceAll(open, "\x00", "\x00\x00"))
}
