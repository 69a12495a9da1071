package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/tools/merge"
)

// spot is a hunk with its position: the index of its first context or removed line, or
// where its lines are inserted if it has only new ones.
type spot struct {
	start int
	lines []string // the hunk's, as in [Hunk]
	hunk  Hunk
	name  string // of the hunk, for messages
}

// end returns the index of the first line after those that the hunk expects.
func (s spot) end() int { return s.start + len(old(s.lines)) }

// change returns a file's content with the hunks applied, and notes about those
// that did not match exactly.
func change(content string, hunks []Hunk, w *work) (string, []string, error) {
	if err := w.spend(len(content)/4 + 4*strings.Count(content, "\n") + 1); err != nil {
		return "", nil, err
	}
	alone := strings.Count(content, "\r") > strings.Count(content, "\r\n")
	if alone && !strings.Contains(content, "\n") && !strings.Contains(textOf(hunks), "\r") {
		changed, notes, err := change(strings.ReplaceAll(content, "\r", "\n"), hunks, w)
		return strings.ReplaceAll(changed, "\n", "\r"), notes, err
	}
	p := placer{doc: newDocument(content), work: w}
	var spots []spot
	for i, h := range hunks {
		s, err := p.locate(h)
		s.hunk, s.name = h, fmt.Sprintf("hunk %d (line %d of the patch)", i+1, h.Line)
		if err != nil && alone {
			err = fmt.Errorf("%w; some lines of the file end with CR alone, which a patch does not match: use edit", err)
		}
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", s.name, err)
		}
		spots = append(spots, s)
	}
	slices.SortStableFunc(spots, func(a, b spot) int { return cmp.Compare(a.start, b.start) })
	return p.doc.with(spots)
}

// textOf returns all lines of hunks.
func textOf(hunks []Hunk) string {
	var all []string
	for _, h := range hunks {
		all = append(append(all, h.Contexts...), h.Lines...)
	}
	return strings.Join(all, "\n")
}

// writer makes the new lines of a document.
type writer struct {
	doc   document
	at    int      // the first line of the document that is not yet handled
	lines []string // with their line endings
	unit  int      // of the document, as [merge.Unit]; -1 until it is needed
}

// keep writes the lines of the document before one.
func (w *writer) keep(until int) {
	for ; w.at < until; w.at++ {
		w.lines = append(w.lines, w.doc.lines[w.at])
	}
}

// put writes a new line. from is the line that it replaces, or -1.
func (w *writer) put(line string, from int) {
	end := w.doc.newline(w.at)
	if from >= 0 && w.doc.end(from) != "" {
		end = w.doc.end(from)
	}
	if end == "\r\n" {
		line = strings.TrimSuffix(line, "\r")
	}
	w.lines = append(w.lines, line+end)
}

// with returns the text with the changes applied, which are ordered by position
// and don't overlap, and notes about inexact ones.
func (d document) with(spots []spot) (string, []string, error) {
	w := writer{doc: d, unit: -1}
	type shown struct {
		note        string
		first, last int
	}
	var inexact []shown
	for _, s := range spots {
		w.keep(s.start)
		first := len(w.lines)
		differs, err := w.hunk(s)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if differs != "" {
			inexact = append(inexact, shown{s.name + " did not match exactly (different: " + differs + ")", first, len(w.lines)})
		}
	}
	w.keep(len(d.lines))
	w.finish(spots)
	text := strings.Join(w.lines, "")
	var notes []string
	for i, s := range inexact {
		note := s.note
		if i < maxShownHunks {
			note += "; the file now has:\n" + strings.TrimSuffix(merge.Show(text, size(w.lines[:s.first]), size(w.lines[:s.last])), "\n")
		}
		notes = append(notes, note)
	}
	return d.mark + text, notes, nil
}

// maxShownHunks is the maximum number of hunks of a file whose lines are in notes.
const maxShownHunks = 3

func size(lines []string) int {
	n := 0
	for _, l := range lines {
		n += len(l)
	}
	return n
}

// hunk writes the lines of a hunk, and returns what differs between the lines of
// the file and those that it expects.
func (w *writer) hunk(s spot) (string, error) {
	want := old(s.lines)
	found := make([]string, len(want))
	for i := range found {
		found[i] = w.doc.text(s.start + i)
	}
	if slices.Equal(found, want) {
		for _, l := range s.lines {
			switch sign(l) {
			case '+':
				w.put(text(l), -1)
			case '-':
				w.at++
			default:
				w.keep(w.at + 1)
			}
		}
		return "", nil
	}
	var added []string
	for _, l := range s.lines {
		if sign(l) == '+' {
			added = append(added, text(l))
		}
	}
	if w.unit < 0 {
		w.unit = merge.Unit(strings.Join(w.doc.lines, ""))
	}
	m := merge.NewMatch(found, want, added, w.unit)
	for _, g := range groups(s.lines) {
		w.keep(s.start + g.from)
		lines, err := m.Change(g.from, g.to, g.new)
		if err != nil {
			return "", err
		}
		w.at = s.start + g.to
		for _, l := range lines {
			if l.From < 0 {
				w.put(l.Text, -1)
			} else {
				w.put(l.Text, s.start+l.From)
			}
		}
	}
	w.keep(s.end())
	return strings.Join(merge.Differences(found, want), ", "), nil
}

// group is a change in a hunk: expected lines from:to are replaced by new ones.
type group struct {
	from, to int
	new      []string
}

// groups returns the changes of a hunk between its context lines.
func groups(lines []string) []group {
	var all []group
	n, open := 0, false
	for _, l := range lines {
		if sign(l) == ' ' {
			n++
			open = false
			continue
		}
		if !open {
			all = append(all, group{from: n, to: n})
			open = true
		}
		g := &all[len(all)-1]
		if sign(l) == '-' {
			n++
			g.to = n
		} else {
			g.new = append(g.new, text(l))
		}
	}
	return all
}

// finish gives all lines but the last a line ending, and the last the one that it
// should have: none if the last line of the file had none and is still there or
// was replaced, unless the patch sets it. If it was removed, the line before keeps its own.
func (w *writer) finish(spots []spot) {
	n, had := len(w.lines), len(w.doc.lines)
	if n == 0 {
		return
	}
	unended := had > 0 && w.doc.end(had-1) == ""
	for i := range n - 1 {
		if !strings.HasSuffix(w.lines[i], "\n") {
			w.lines[i] += w.doc.newline(had)
		}
	}
	bare := func() { // a CR alone is text
		line, crlf := strings.CutSuffix(w.lines[n-1], "\r\n")
		if !crlf {
			line = strings.TrimSuffix(line, "\n")
		}
		w.lines[n-1] = line
	}
	if len(spots) == 0 {
		return
	}
	last := spots[len(spots)-1]
	final := FinalKept
	if last.end() == had {
		final = last.hunk.Final
	}
	appended := last.end() == had && len(last.lines) > 0 && appends(last.lines)
	switch {
	case final == FinalRemoved:
		bare()
	case final == FinalAdded || appended && unended:
		if !strings.HasSuffix(w.lines[n-1], "\n") {
			w.lines[n-1] += w.doc.newline(had)
		}
	case unended && !(last.end() == had && removesEnd(last.lines)):
		bare()
	}
}

// removesEnd reports whether a hunk removes its last lines without adding any there.
func removesEnd(lines []string) bool {
	all := groups(lines)
	if len(all) == 0 {
		return false
	}
	g := all[len(all)-1]
	return len(g.new) == 0 && g.from < g.to && g.to == len(old(lines))
}

// appends reports whether a hunk adds lines behind its last context line, without
// removing any there.
func appends(lines []string) bool {
	all := groups(lines)
	if len(all) == 0 {
		return false
	}
	g := all[len(all)-1]
	return g.from == g.to && g.to == len(old(lines))
}
