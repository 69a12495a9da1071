package edit

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/tools/merge"
)

// fitter applies the change from old to new to the matches of old, which need not
// be exact.
type fitter struct {
	source
	matcher  string
	old, new string // old has LF line endings
	ends     *lineEnds
	unit     int // spaces of a level in the text, -1 until it is needed
}

// fit sets the text of a result, and what differs in its first match. The spans
// of the source are in order and don't overlap.
func (f *fitter) fit(res *Result, spans []span) error {
	var out strings.Builder
	out.Grow(len(f.mark) + len(f.text) + len(f.returns) + len(f.new))
	out.WriteString(f.mark)
	f.unit = -1
	at := 0
	var first span // of the first replacement in out
	for i, p := range spans {
		f.write(&out, at, p.start)
		start := out.Len()
		text, differs, err := f.replacement(p)
		if err != nil {
			return fmt.Errorf("%w at line %d: %w", ErrInexact, strings.Count(f.text[:p.start], "\n")+1, err)
		}
		out.WriteString(text)
		if p.end == len(f.text) && strings.HasSuffix(f.old, "\n") && !strings.HasSuffix(f.text[p.start:], "\n") {
			differs = strings.TrimPrefix(differs+", final newline", ", ")
		}
		if i == 0 {
			res.Differs, first = differs, span{start, out.Len()}
		}
		at = p.end
	}
	f.write(&out, at, len(f.text))
	res.Text = out.String()
	if res.Differs != "" {
		res.Shown = merge.Show(res.Text, first.start, first.end)
	}
	return nil
}

// replacement returns the text for a span, and what differs between the text
// there and old.
func (f *fitter) replacement(p span) (text, differs string, err error) {
	found := f.text[p.start:p.end]
	old, new := f.old, toLF(f.new)
	if f.matcher != "exact" {
		old, new, err = atBoundary(found, old, new, f.matcher == "trimmed-boundary")
		if err != nil {
			return "", "", err
		}
	}
	if found == old && f.matcher == "trimmed-boundary" {
		differs = "surrounding whitespace"
	}
	if found == old && !f.mixedEnds(p) {
		return f.withEnds(p, new), differs, nil
	}
	lines := func(s string) []string { return strings.Split(s, "\n") }
	m := merge.NewMatch(lines(found), lines(old), lines(new), f.level())
	loose := f.matcher == "block-anchor" || f.matcher == "context-aware"
	escapes := f.matcher == "escape-normalised"
	if escapes || !loose && !m.Equivalent() {
		differs = "line breaks"
		if escapes {
			differs = "escapes"
		}
		var original strings.Builder
		f.write(&original, p.start, p.end)
		text, err = merge.Text(original.String(), old, new, cmp.Or(f.ends.of(p), "\n"), escapes)
		return text, differs, err
	}
	if found != old {
		differs = strings.Join(merge.Differences(lines(found), lines(old)), ", ")
	}
	changed, err := m.Change(0, len(lines(old)), lines(new))
	if err != nil {
		return "", "", err
	}
	return f.join(p, changed), differs, nil
}

// atBoundary removes the newline or, with trim, the whitespace at the ends of old
// and new that is not in the text that was found.
func atBoundary(found, old, new string, trim bool) (string, string, error) {
	if strings.HasSuffix(old, "\n") && !strings.HasSuffix(found, "\n") {
		old, new = strings.TrimSuffix(old, "\n"), strings.TrimSuffix(new, "\n")
	}
	core := strings.TrimSpace(old)
	if !trim {
		return old, new, nil
	}
	i := strings.Index(old, core)
	head, tail := old[:i], old[i+len(core):]
	inner := strings.TrimSpace(new)
	i = strings.Index(new, inner)
	before, behind := new[:i], new[i+len(inner):]
	if before != "" && before != head || behind != "" && behind != tail {
		return "", "", errors.New("the file has other whitespace around the text; copy it exactly")
	}
	return core, inner, nil
}

// level returns the spaces by which the text is indented, as [merge.Unit].
func (f *fitter) level() int {
	if f.unit < 0 {
		f.unit = merge.Unit(f.text)
	}
	return f.unit
}

// mixedEnds reports whether lines in a span have different line endings.
func (f *fitter) mixedEnds(p span) bool {
	if len(f.returns) == 0 {
		return false
	}
	crlf := f.returnsIn(p)
	return crlf > 0 && crlf < strings.Count(f.text[p.start:p.end], "\n")
}

// withEnds returns a text with the line endings of a span.
func (f *fitter) withEnds(p span, text string) string {
	switch f.ends.of(p) {
	case "\r\n":
		return toCRLF(text)
	case "\n":
		return text
	}
	if toLF(f.new) == text {
		return f.new
	}
	return text
}

// join returns lines that replace a span with their line endings: each has its own,
// and a new one that of the line before it. The last has none.
func (f *fitter) join(p span, lines []merge.Line) string {
	var ends []string // of the lines that were found
	for at := p.start; at < p.end; at++ {
		i := strings.IndexByte(f.text[at:p.end], '\n')
		if i < 0 {
			break
		}
		at += i
		ends = append(ends, f.lineEnd(at))
	}
	end := cmp.Or(f.ends.of(p), "\n")
	if len(ends) > 0 {
		end = ends[0]
	}
	var out strings.Builder
	for i, l := range lines {
		out.WriteString(l.Text)
		if l.From >= 0 && l.From < len(ends) {
			end = ends[l.From]
		}
		if i+1 < len(lines) {
			out.WriteString(end)
		}
	}
	return out.String()
}
