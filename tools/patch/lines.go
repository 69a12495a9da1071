package patch

import "strings"

// bom is the byte-order mark of UTF-8.
const bom = "\uFEFF"

// document is a file split into lines.
type document struct {
	mark  string   // a byte-order mark, or ""
	lines []string // with their ends
}

func newDocument(content string) document {
	d := document{}
	if rest, ok := strings.CutPrefix(content, bom); ok {
		d.mark, content = bom, rest
	}
	if content != "" {
		d.lines = strings.SplitAfter(content, "\n")
	}
	if n := len(d.lines); n > 0 && d.lines[n-1] == "" {
		d.lines = d.lines[:n-1]
	}
	return d
}

// text returns line i without its line ending.
func (d document) text(i int) string {
	return strings.TrimSuffix(d.lines[i], d.end(i))
}

// end returns the line ending of line i: LF, CRLF, or "".
func (d document) end(i int) string {
	switch line := d.lines[i]; {
	case strings.HasSuffix(line, "\r\n"):
		return "\r\n"
	case strings.HasSuffix(line, "\n"):
		return "\n"
	}
	return ""
}

// newline returns how a line that comes behind line i-1 has to end: as that
// line does, or the first of the file.
func (d document) newline(i int) string {
	if i > 0 && i <= len(d.lines) {
		if end := d.end(i - 1); end != "" {
			return end
		}
	}
	if len(d.lines) > 0 {
		if end := d.end(0); end != "" {
			return end
		}
	}
	return "\n"
}
