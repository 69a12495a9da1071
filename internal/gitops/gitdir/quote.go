package gitdir

import (
	"fmt"
	"strings"
)

// shortEscapes are the bytes that git writes as a backslash and a letter.
const shortEscapes = "\a\b\t\n\v\f\r\"\\"

// escapeLetters are the letters, in the same order.
const escapeLetters = `abtnvfr"\`

// QuotePath writes a path as git does in patches and messages: as it is, or in
// double quotes with escapes if it has control characters, quotes, backslashes or
// bytes beyond ASCII.
func QuotePath(path string) string {
	plain := true
	for i := range len(path) {
		if c := path[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return path
	}
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(path) {
		c := path[i]
		switch at := strings.IndexByte(shortEscapes, c); {
		case at >= 0:
			out.WriteByte('\\')
			out.WriteByte(escapeLetters[at])
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&out, `\%03o`, c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// unquotePath reads a quoted path at the begin of a text and returns how many
// bytes it took, 0 if it is malformed.
func unquotePath(text string) (path string, n int) {
	if !strings.HasPrefix(text, `"`) {
		return "", 0
	}
	var out []byte
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return string(out), i + 1
		case '\\':
			c, used := unescape(text[i+1:])
			if used == 0 {
				return "", 0
			}
			out = append(out, c)
			i += used
		default:
			out = append(out, text[i])
		}
	}
	return "", 0
}

// unescape reads what follows a backslash: one of git's letters or three octal
// digits.
func unescape(text string) (c byte, used int) {
	if text == "" {
		return 0, 0
	}
	if at := strings.IndexByte(escapeLetters, text[0]); at >= 0 {
		return shortEscapes[at], 1
	}
	if len(text) < 3 || text[0] > '3' {
		return 0, 0
	}
	for _, d := range []byte(text[:3]) {
		if d < '0' || d > '7' {
			return 0, 0
		}
		c = c<<3 | (d - '0')
	}
	return c, 3
}
