package edit

import (
	"sort"
	"strings"
)

// bom is the byte-order mark of UTF-8.
const bom = "\uFEFF"

// source is a text to edit, normalized for the matchers, with what is needed to
// restore it.
type source struct {
	mark    string // a byte-order mark, or ""
	text    string // the rest, with LF line endings
	returns []int  // offsets in text of the LFs that were CRLF
}

func newSource(text string) source {
	s := source{}
	if rest, ok := strings.CutPrefix(text, bom); ok {
		s.mark, text = bom, rest
	}
	for at := 0; ; {
		i := strings.Index(text[at:], "\r\n")
		if i < 0 {
			break
		}
		s.returns = append(s.returns, at+i-len(s.returns))
		at += i + 2
	}
	s.text = toLF(text)
	return s
}

// write writes a range of the original text.
func (s source) write(out *strings.Builder, start, end int) {
	first := sort.SearchInts(s.returns, start)
	for _, r := range s.returns[first:sort.SearchInts(s.returns, end)] {
		out.WriteString(s.text[start:r])
		out.WriteByte('\r')
		start = r
	}
	out.WriteString(s.text[start:end])
}

// returnsIn counts the CRLFs in a span.
func (s source) returnsIn(p span) int {
	return sort.SearchInts(s.returns, p.end) - sort.SearchInts(s.returns, p.start)
}

// lineEnds returns the line endings of a text sequentially.
type lineEnds struct {
	source
	first string // the end of the text's first line
	next  int    // the first LF from the place asked for last on, or the text's length
}

func (s source) lineEnds() *lineEnds {
	return &lineEnds{source: s, first: s.lineEnd(strings.IndexByte(s.text, '\n')), next: -1}
}

// lineEnd returns the original line ending of the LF at an offset of the text;
// "" if not found.
func (s source) lineEnd(at int) string {
	if at < 0 {
		return ""
	}
	if i := sort.SearchInts(s.returns, at); i < len(s.returns) && s.returns[i] == at {
		return "\r\n"
	}
	return "\n"
}

// of returns how the lines of a place end: CRLF if one of them does, else LF, or
// nothing if the text has but one line. A place within a line has the end of
// that line, or if that has none, of the text's first. Places come in order.
func (e *lineEnds) of(p span) string {
	first := sort.SearchInts(e.returns, p.start)
	if first < len(e.returns) && e.returns[first] < p.end {
		return "\r\n"
	}
	if strings.Contains(e.text[p.start:p.end], "\n") {
		return "\n"
	}
	if e.next < p.end {
		e.next = len(e.text)
		if i := strings.IndexByte(e.text[p.end:], '\n'); i >= 0 {
			e.next = p.end + i
		}
	}
	if e.next == len(e.text) {
		return e.first
	}
	return e.lineEnd(e.next)
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func toCRLF(s string) string { return strings.ReplaceAll(toLF(s), "\n", "\r\n") }
