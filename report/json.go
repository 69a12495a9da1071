package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report/jsonlayout"
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
	p.text = jsonlayout.Append(p.text[:0], bytes.TrimSpace(p.compact.Bytes()), depth, openDepth)
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
