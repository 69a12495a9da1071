package permission

import (
	"strings"
	"unicode/utf8"
)

// Match reports whether pattern matches the whole of subject. In a pattern "*"
// stands for any run of characters, "/" and newlines included, and "?" for any
// one character; nothing else is special, and case counts. A pattern that ends
// in " *" also matches without that tail, so that "git *" covers a bare "git".
// Backslashes count as slashes on both sides.
func Match(pattern, subject string) bool {
	pattern = strings.ReplaceAll(pattern, `\`, "/")
	subject = strings.ReplaceAll(subject, `\`, "/")
	if head, ok := strings.CutSuffix(pattern, " *"); ok && glob(head, subject) {
		return true
	}
	return glob(pattern, subject)
}

// glob matches in O(len(pattern) * len(subject)) at worst: after a mismatch it
// goes back to the last "*" only, which is enough as an earlier one can match
// nothing that the last could not. It allocates nothing: searches ask about
// every file of a tree.
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

// runeLen is the number of bytes of the first character.
func runeLen(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}
