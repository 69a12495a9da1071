package redact

import "strings"

// Wide returns the ASCII characters of a text in UTF-16 or UTF-32, in either byte order,
// with or without a byte order mark, also if it is in the middle of other data: those next
// to a NUL byte. Other bytes are replaced by line breaks. It returns "" for a text without
// NUL bytes.
func Wide(text string) string {
	if !strings.Contains(text, "\x00") {
		return ""
	}
	b := make([]byte, 0, len(text)/2)
	for i := range len(text) {
		c := text[i]
		switch {
		case c == 0:
		case c < 0x80 && (i > 0 && text[i-1] == 0 || i+1 < len(text) && text[i+1] == 0):
			b = append(b, c)
		case len(b) > 0 && b[len(b)-1] != '\n':
			b = append(b, '\n')
		}
	}
	return string(b)
}
