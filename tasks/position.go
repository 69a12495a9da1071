package tasks

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// position is a line and a column, both from 1.
type position struct{ line, column int }

// before orders places, for a search.
func (p position) before(q position) int {
	return cmp.Or(cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
}

// openings returns where the lines of a file hold the begin of a variable, in
// order.
func openings(lines []string) []position {
	var all []position
	for i, rest := range lines {
		column := 1
		for {
			before, after, ok := strings.Cut(rest, opening)
			if !ok {
				break
			}
			column += utf8.RuneCountInString(before)
			all = append(all, position{i + 1, column})
			column += len(opening)
			rest = after
		}
	}
	return all
}

// openings returns where each variable of the text begins in the file. Quotes,
// folding and indentation change where a text's characters are, but not their
// order: the nth in the text is the nth in the file, counted from the text's
// begin. Where the file spells it otherwise (an escape in double quotes), it is
// the begin of the text.
func (t text) openings() []position {
	n := strings.Count(t.s, opening)
	if n == 0 {
		return nil
	}
	start := position{t.node.Line, t.node.Column}
	from := start
	if t.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		from = position{start.line + 1, 1}
	}
	i, _ := slices.BinarySearchFunc(t.src.openings, from, position.before)
	all := slices.Clone(t.src.openings[i:min(i+n, len(t.src.openings))])
	for len(all) < n {
		all = append(all, start)
	}
	return all
}

// positionOf returns where the character at an offset of the text is in the
// file. Quotes, folding and indentation change white space and quotes alone, so
// that the other characters can be counted off; where the file spells one
// otherwise (an escape in double quotes), it is the begin of the text.
func (t text) positionOf(offset int) position {
	start := position{t.node.Line, t.node.Column}
	c := cursor{lines: t.src.Lines, position: start}
	switch {
	case t.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		c.position = position{start.line + 1, 1}
	case t.node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		c.column++
	}
	for i, r := range t.s {
		switch {
		case unicode.IsSpace(r):
			continue
		case !c.find(r):
			return start
		case i >= offset:
			return c.position
		}
		if c.column++; r == '\'' && t.node.Style&yaml.SingleQuotedStyle != 0 {
			c.column++ // it is doubled
		}
	}
	return c.position
}

// cursor is a position in a file.
type cursor struct {
	lines []string
	position
	row   int    // the line that runes are of
	runes []rune // of the line
}

// find goes to the next character that is no white space, nor a backslash
// before r, and reports whether it is r.
func (c *cursor) find(r rune) bool {
	for ; c.line <= len(c.lines); c.line, c.column = c.line+1, 1 {
		if c.row != c.line {
			c.row, c.runes = c.line, []rune(c.lines[c.line-1])
		}
		for ; c.column <= len(c.runes); c.column++ {
			got := c.runes[c.column-1]
			if !unicode.IsSpace(got) && (got != '\\' || r == '\\') {
				return got == r
			}
		}
	}
	return false
}

const opening = "${{"
