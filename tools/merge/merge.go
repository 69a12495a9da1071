// Package merge applies a change, from an old text to a new one, to text of a
// file that resembles the old one but differs in indentation, whitespace,
// typographic characters or escapes. It is a three-way merge with the old text as
// the base: what is equal in old and new keeps the bytes of the file, and new
// lines get the file's indentation. It does not access files.
package merge

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// ErrInexact is matched by errors about changes that can't be applied without
// guessing, because the file differs from the old text.
var ErrInexact = errors.New("the text in the file differs from the old text, and the change can't be applied to it safely")

// Line is a line of a result, without its line ending.
type Line struct {
	Text string
	From int // the found line that it is or replaces, -1 for a new one
}

// Match is a block of lines in a file, found by an old text that may differ from
// it.
type Match struct {
	found, old []string
	in         []int // for each line of old, its line of found, or -1
	indent     indentation
}

// NewMatch aligns the lines of a file that were found with those of the old text.
// written are the new lines, and unit is the indentation of the file's levels in
// spaces ([Unit]); both serve to convert indentation.
func NewMatch(found, old, written []string, unit int) *Match {
	m := &Match{found: found, old: old, in: aligned(keys(old), keys(found))}
	m.indent = indentation{unit: unit}
	for k, f := range m.in {
		if f < 0 || blank(old[k]) || blank(found[f]) {
			continue
		}
		m.indent.first = m.indent.first || k == 0
		m.indent.pairs = append(m.indent.pairs, shift{margin(old[k]), margin(found[f])})
	}
	for _, lines := range [][]string{old, written} {
		for _, l := range lines {
			if !blank(l) {
				m.indent.written = append(m.indent.written, margin(l))
			}
		}
	}
	return m
}

// Equivalent reports whether each line of the old text corresponds to one of the
// found lines, without other lines between them.
func (m *Match) Equivalent() bool {
	if len(m.found) != len(m.old) {
		return false
	}
	for i := range m.old {
		if m.in[i] != i || key(m.old[i]) != key(m.found[i]) {
			return false
		}
	}
	return true
}

// Change returns the found lines that correspond to old[from:to], with the
// difference between these and the new lines applied. An error matches
// [ErrInexact].
func (m *Match) Change(from, to int, new []string) ([]Line, error) {
	old := m.old[from:to]
	at, end := bounds(m.in, len(m.found), from, to)
	if from == 0 {
		at = 0
	}
	if to == len(m.old) {
		end = len(m.found)
	}
	var out []Line
	keep := func(until int) {
		for ; at < until; at++ {
			out = append(out, Line{m.found[at], at})
		}
	}
	for _, c := range changes(len(old), len(new), common(old, new)) {
		start, stop := bounds(m.in, len(m.found), from+c.a, from+c.b)
		keep(start)
		lines, err := m.rewrite(from+c.a, from+c.b, new[c.c:c.d], from+c.a == 0 && c.c == 0)
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
		at = max(at, stop)
	}
	keep(end)
	return out, nil
}

// rewrite returns new lines in place of old[a:b]. first is whether they are the
// first of the new text.
func (m *Match) rewrite(a, b int, new []string, first bool) ([]Line, error) {
	if err := m.seen(a, b); err != nil {
		return nil, err
	}
	partner := paired(m.old[a:b], new)
	absolute := m.absolute(a, b, new)
	out := make([]Line, 0, len(new))
	for j, line := range new {
		if blank(line) {
			out = append(out, Line{line, m.source(a, b, j, partner)})
			continue
		}
		indent, body := margin(line), line[len(margin(line)):]
		var err error
		k := a + partner[j]
		switch {
		case absolute:
		case first && j == 0 && indent == "" && len(m.old) > 0 && margin(m.old[0]) == "" && m.in[0] == 0:
			indent = margin(m.found[0])
		case partner[j] >= 0 && indent == margin(m.old[k]) && !blank(m.old[k]):
			indent = margin(m.found[m.in[k]])
		default:
			indent, err = m.indent.of(indent)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %q: %w", ErrInexact, textOf(line), err)
		}
		if partner[j] >= 0 {
			body = mergeBody(m.found[m.in[k]], m.old[k], body)
		}
		out = append(out, Line{indent + body, m.source(a, b, j, partner)})
	}
	return out, nil
}

// source returns the found line that new line j replaces, or -1.
func (m *Match) source(a, b, j int, partner []int) int {
	switch {
	case partner[j] >= 0:
		return m.in[a+partner[j]]
	case j < b-a:
		return m.in[a+j]
	}
	return -1
}

// mergeBody applies the change from a line to a new one, given without its
// indentation, to that of the file.
func mergeBody(found, old, body string) string {
	core := func(line string) (string, string) {
		line = line[len(margin(line)):]
		c := strings.TrimRightFunc(line, unicode.IsSpace)
		return c, line[len(c):]
	}
	f, fEnd := core(found)
	o, oEnd := core(old)
	n, nEnd := core(body)
	merged, _ := tokenMerge(f, o, n, "\n", false)
	if oEnd == nEnd {
		nEnd = fEnd
	}
	return merged + nEnd
}

// absolute reports whether new lines in place of old[a:b] have the file's
// indentation already, while the old ones have none.
func (m *Match) absolute(a, b int, new []string) bool {
	for j, line := range new {
		if len(new) != b-a || blank(line) || key(line) == key(m.old[a+j]) {
			return false
		}
		indent := margin(line)
		if indent == "" || margin(m.old[a+j]) != "" || margin(m.found[m.in[a+j]]) != indent {
			return false
		}
	}
	return len(new) > 0
}

// seen returns an error if lines of the file that are to be replaced are not
// those of old[a:b].
func (m *Match) seen(a, b int) error {
	if a == b {
		return nil
	}
	start, stop := bounds(m.in, len(m.found), a, b)
	next := start
	for k := a; k < b; k++ {
		f := m.in[k]
		switch {
		case f < 0:
			return fmt.Errorf("%w: the file does not have the line %q", ErrInexact, textOf(m.old[k]))
		case f != next:
			return fmt.Errorf("%w: the file also has the line %q there", ErrInexact, textOf(m.found[next]))
		case key(m.old[k]) != key(m.found[f]) && similarity(m.old[k], m.found[f]) < minSimilarity:
			return fmt.Errorf("%w: the file has the line %q instead of %q", ErrInexact, textOf(m.found[f]), textOf(m.old[k]))
		}
		next++
	}
	if next != stop {
		return fmt.Errorf("%w: the file also has the line %q there", ErrInexact, textOf(m.found[next]))
	}
	return nil
}

// Text applies the change from old to new to a found text whose line breaks or
// escapes differ from those of old. Text that is inserted must not need a line
// break or an escape, because it is not known how the file would have it. Line
// breaks of a text with escapes become end.
func Text(found, old, new, end string, escapes bool) (string, error) {
	out, inserted := tokenMerge(found, old, new, end, escapes)
	escaped := escapes && strings.Count(found, `\`) > strings.Count(old, `\`)
	switch {
	case escapes && strings.Contains(inserted, `\`), escaped && strings.ContainsAny(inserted, "'\"`$\n\t"):
		return "", fmt.Errorf("%w: the file has other escapes than the old text; copy them exactly", ErrInexact)
	case !escapes && strings.Contains(inserted, "\n"):
		return "", fmt.Errorf("%w: the file has line breaks at other positions than the old text; copy them exactly", ErrInexact)
	}
	return out, nil
}

// textOf shortens a line for an error.
func textOf(line string) string { return clip(line, 80) }
