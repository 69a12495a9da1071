package report

import (
	"bytes"
	_ "embed" // report.schema.json
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

//go:embed report.schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of report.json.
func Schema() []byte { return []byte(schema) }

// openDepth is how many levels of report.json are spread over lines: those
// down to the elements of a job's lists, so that each call, change and verify
// is one line, and a model's JSON can't make the file large by its nesting.
const openDepth = 4

// JSON writes report.json: indented, in the order of the schema, with a
// newline at its end. Characters that do not show, or turn the text around
// them, stand as \u escapes, and nothing in it is a command to a CI runner that
// finds it in a log.
func JSON(w io.Writer, r *Report) error {
	var compact bytes.Buffer
	enc := json.NewEncoder(&compact)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	text := append(layout(bytes.TrimSpace(compact.Bytes()), openDepth), '\n')
	if command := []byte("##["); bytes.Contains(text, command) { // only strings hold it
		text = bytes.ReplaceAll(text, command, []byte(`#\u0023[`))
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// layout spreads the first levels of a compact JSON text over lines, leaves
// deeper ones on one line, and gives every string its one form.
func layout(compact []byte, levels int) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/4)
	depth := 0
	newline := func() {
		out = append(out, '\n')
		out = append(out, strings.Repeat("  ", depth)...)
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

// stringLen is the length of the JSON string that text begins with.
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

// appendString writes a JSON string anew, so that one text has one form
// whichever escapes it came with, and none that readers refuse: lone
// surrogates and invalid UTF-8 become U+FFFD.
func appendString(out, token []byte) []byte {
	if !bytes.ContainsFunc(token, func(r rune) bool { return r == '\\' || r < ' ' || r > '~' }) {
		return append(out, token...) // has but one form
	}
	var s string
	if err := json.Unmarshal(token, &s); err != nil {
		return append(out, token...) // never: the token was encoded a moment ago
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
		case !hidden(r):
			out = append(out, string(r)...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return append(out, '"')
}

// oneLine is a model's JSON as people read it.
func oneLine(raw json.RawMessage) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return string(raw)
	}
	return string(layout(compact.Bytes(), 0))
}
