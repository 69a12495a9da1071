package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// spot is a hunk with its position: the index of its first context or removed line, or
// where its lines are inserted if it has only new ones.
type spot struct {
	start int
	lines []string // the hunk's, as in [Hunk]
}

// change returns a file's content with the hunks applied.
func change(content string, hunks []Hunk, w *work) (string, error) {
	if err := w.spend(len(content)/4 + 4*strings.Count(content, "\n") + 1); err != nil {
		return "", err
	}
	p := placer{doc: newDocument(content), work: w}
	var spots []spot
	for i, h := range hunks {
		s, err := p.locate(h)
		if err != nil {
			return "", fmt.Errorf("hunk %d (line %d of the patch): %w", i+1, h.Line, err)
		}
		spots = append(spots, s)
	}
	slices.SortStableFunc(spots, func(a, b spot) int { return cmp.Compare(a.start, b.start) })
	return p.doc.with(spots, len(content)), nil
}

// with returns the text with the changes applied, which are ordered by
// position and don't overlap. It ends with a newline unless it is empty. size is
// its approximate length in bytes.
func (d document) with(spots []spot, size int) string {
	var out strings.Builder
	out.Grow(size + 1024)
	out.WriteString(d.mark)
	open := "" // line ending that the last line still needs
	put := func(line, end, missing string) {
		out.WriteString(open)
		out.WriteString(line)
		out.WriteString(end)
		open = missing
	}
	at := 0
	keep := func(until int) {
		for ; at < until; at++ {
			missing := ""
			if d.end(at) == "" {
				missing = d.newline(at)
			}
			put(d.lines[at], "", missing)
		}
	}
	for _, s := range spots {
		keep(s.start)
		for _, l := range s.lines {
			switch sign(l) {
			case '+':
				end := d.newline(at)
				line := text(l)
				if end == "\r\n" {
					line = strings.TrimSuffix(line, "\r")
				}
				put(line, end, "")
			case '-':
				at++
			default:
				keep(at + 1)
			}
		}
	}
	keep(len(d.lines))
	out.WriteString(open)
	return out.String()
}
