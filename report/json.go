package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/millhand/millhand/internal/text/printable"
)

// openDepth is the number of levels of report.json that are indented: down to the
// elements of a job's lists. Each call, change and verify is one line, and a model's
// nested JSON can't enlarge the file by indentation.
const openDepth = 4

// jobDepth is the nesting depth of a job in report.json.
const jobDepth = 2

// JSON writes report.json: indented, in the order of the schema, with a newline at the
// end. Invisible characters and those that reorder text are \u escapes, and it contains
// no workflow commands, in case it is printed to a CI log. It buffers one job at a time.
func JSON(w io.Writer, r *Report) error {
	frame := *r
	frame.Jobs = []Job{}
	p := printer{w: w}
	p.print(frame, 0)
	before, after, _ := bytes.Cut(bytes.Clone(p.text), []byte(`"jobs": []`)) // its quotes would be escaped in a string
	p.write(before, []byte(`"jobs": [`))
	for i := range r.Jobs {
		j, err := r.Jobs[i].Complete()
		if err != nil {
			return err
		}
		p.print(j, jobDepth)
		p.write([]byte(separator(i)), p.text)
	}
	if len(r.Jobs) > 0 {
		p.write([]byte("\n  "))
	}
	p.write([]byte("]"), after, []byte("\n"))
	return p.err
}

// separator returns the text before an element of the list of jobs.
func separator(i int) string {
	if i == 0 {
		return "\n    "
	}
	return ",\n    "
}

// printer writes JSON in chunks and records the first error.
type printer struct {
	w       io.Writer
	compact bytes.Buffer
	text    []byte // last printed value, not written yet
	err     error
}

// print formats a value at a depth of the document.
func (p *printer) print(value any, depth int) {
	p.compact.Reset()
	enc := json.NewEncoder(&p.compact)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil && p.err == nil {
		p.err = fmt.Errorf("encode report: %w", err)
	}
	p.text = layout(p.text[:0], bytes.TrimSpace(p.compact.Bytes()), depth, openDepth)
	p.text = printable.EscapeHashes(p.text, `\u0023`) // they occur only in strings
}

func (p *printer) write(chunks ...[]byte) {
	for _, chunk := range chunks {
		if p.err != nil {
			return
		}
		if _, err := p.w.Write(chunk); err != nil {
			p.err = fmt.Errorf("write report: %w", err)
		}
	}
}

// layout appends a compact JSON text at a depth of a document to out: the first levels
// are indented, deeper ones on one line, and strings normalized.
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
	return string(layout(nil, compact.Bytes(), 0, 0))
}
