package report

import (
	"bytes"
	_ "embed" // report.schema.json
	"encoding/json"
	"fmt"
	"io"
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

// jobDepth is how deeply a job stands in report.json.
const jobDepth = 2

// JSON writes report.json: indented, in the order of the schema, with a
// newline at its end. Characters that do not show, or turn the text around
// them, stand as \u escapes, and nothing in it is a command to a CI runner that
// finds it in a log. It holds the text of one job at a time.
func JSON(w io.Writer, r *Report) error {
	frame := *r
	frame.Jobs = []Job{}
	p := printer{w: w}
	p.print(frame, 0)
	before, after, _ := bytes.Cut(bytes.Clone(p.text), []byte(`"jobs": []`)) // in a string its quotes would be escaped
	p.write(before, []byte(`"jobs": [`))
	for i := range r.Jobs {
		p.print(&r.Jobs[i], jobDepth)
		p.write([]byte(separator(i)), p.text)
	}
	if len(r.Jobs) > 0 {
		p.write([]byte("\n  "))
	}
	p.write([]byte("]"), after, []byte("\n"))
	return p.err
}

// separator is what comes before an element of the list of jobs.
func separator(i int) string {
	if i == 0 {
		return "\n    "
	}
	return ",\n    "
}

// printer writes JSON piece by piece and keeps the first error.
type printer struct {
	w       io.Writer
	compact bytes.Buffer
	text    []byte // what was printed last; not yet written
	err     error
}

// print lays a value out that stands so deep in the document.
func (p *printer) print(value any, depth int) {
	p.compact.Reset()
	enc := json.NewEncoder(&p.compact)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil && p.err == nil {
		p.err = fmt.Errorf("encode report: %w", err)
	}
	p.text = layout(p.text[:0], bytes.TrimSpace(p.compact.Bytes()), depth, openDepth)
	if command := []byte("##["); bytes.Contains(p.text, command) { // only strings hold it
		p.text = bytes.ReplaceAll(p.text, command, []byte(`#\u0023[`))
	}
}

func (p *printer) write(pieces ...[]byte) {
	for _, piece := range pieces {
		if p.err != nil {
			return
		}
		if _, err := p.w.Write(piece); err != nil {
			p.err = fmt.Errorf("write report: %w", err)
		}
	}
}

// layout appends to out a compact JSON text that stands so deep in a document:
// the document's first levels spread over lines, deeper ones on one line, and
// every string in its one form.
func layout(out, compact []byte, depth, levels int) []byte {
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
	return string(layout(nil, compact.Bytes(), 0, 0))
}
