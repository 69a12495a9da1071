// Package jsonlayout lays out JSON texts for people: the first levels indented, strings in one form. It knows no reports.
package jsonlayout

import (
	"bytes"
	"encoding/json"

	"github.com/millhand/millhand/internal/text/printable"
)

// Append appends a compact JSON text at a depth of a document to out: the first levels
// are indented, deeper ones on one line, and strings normalized.
func Append(out, compact []byte, depth, levels int) []byte {
	newline := func() {
		out = append(out, '\n')
		for range depth {
			out = append(out, "  "...)
		}
	}
	for i := 0; i < len(compact); i++ {
		switch c := compact[i]; c {
		case '"':
			n := stringLen(compact[i:])
			out = appendString(out, compact[i:i+n])
			i += n - 1
		case '{', '[':
			out = append(out, c)
			if compact[i+1] == c+2 { // the closing bracket
				i++
				out = append(out, c+2)
				continue
			}
			if depth++; depth <= levels {
				newline()
			}
		case '}', ']':
			if depth--; depth < levels {
				newline()
			}
			out = append(out, c)
		case ',':
			out = append(out, c)
			if depth <= levels {
				newline()
			} else {
				out = append(out, ' ')
			}
		case ':':
			out = append(out, ": "...)
		default:
			out = append(out, c)
		}
	}
	return out
}

// stringLen returns the length of the JSON string at the start of text.
func stringLen(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// appendString normalizes a JSON string: the same text has the same form, regardless of
// its escapes. Lone surrogates and invalid UTF-8, which some parsers reject, become
// U+FFFD.
func appendString(out, token []byte) []byte {
	if !bytes.ContainsFunc(token, func(r rune) bool { return r == '\\' || r < ' ' || r > '~' }) {
		return append(out, token...) // has only one form
	}
	var s string
	if err := json.Unmarshal(token, &s); err != nil {
		return append(out, token...) // unreachable: the token was just encoded
	}
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\t':
			out = append(out, `\t`...)
		case !printable.Hidden(r):
			out = append(out, string(r)...)
		default:
			out = printable.AppendEscape(out, r)
		}
	}
	return append(out, '"')
}

// OneLine formats a model's JSON for people.
func OneLine(raw json.RawMessage) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return string(raw)
	}
	return string(Append(nil, compact.Bytes(), 0, 0))
}
