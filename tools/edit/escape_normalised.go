package edit

import "strings"

// escapeNormalised finds the piece with its escapes resolved, as a model writes
// it that escapes once too often, and lines that with their escapes resolved are
// that.
func escapeNormalised(text, old string) []span {
	want := toLF(unescape(old))
	if blank(want) {
		return nil
	}
	t := newLines(text)
	n := strings.Count(want, "\n") + 1
	parts := make([]string, t.count())
	for i := range parts {
		parts[i] = unescape(t.at(i) + "\n")
	}
	return addDisjoint(occurrences(text, want), t.spans(joined(parts, want+"\n", n), n))
}

// unescape resolves escaped characters and newlines. Other backslashes are
// kept.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		case '\'', '"', '`', '\\', '\n', '$':
			out.WriteByte(c)
		default:
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return out.String()
}
