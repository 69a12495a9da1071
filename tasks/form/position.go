package form

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// position is a line and a column, both from 1.
type position struct{ Line, Column int }

// before orders places, for a search.
func (p position) before(q position) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// openings returns where the lines of a file hold the begin of a variable, in
// order.
func openings(lines []string) []position {
	var all []position
	for i, rest := range lines {
		column := 1
		for {
			before, after, ok := strings.Cut(rest, Opening)
			if !ok {
				break
			}
			column += utf8.RuneCountInString(before)
			all = append(all, position{i + 1, column})
			column += len(Opening)
			rest = after
		}
	}
	return all
}

// Openings returns where each variable of the text begins in the file. Quotes,
// folding and indentation change where a text's characters are, but not their
// order: the nth in the text is the nth in the file, counted from the text's
// begin. Where the file spells it otherwise (an escape in double quotes), it is
// the begin of the text.
func (t Text) Openings() []position {
	n := strings.Count(t.S, Opening)
	if n == 0 {
		return nil
	}
	start := position{t.Node.Line, t.Node.Column}
	from := start
	if t.Node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		from = position{start.Line + 1, 1}
	}
	i, _ := slices.BinarySearchFunc(t.Src.openings, from, position.before)
	all := slices.Clone(t.Src.openings[i:min(i+n, len(t.Src.openings))])
	for len(all) < n {
		all = append(all, start)
	}
	return all
}

// PositionOf returns where the character at an offset of the text is in the
// file. Quotes, folding and indentation change white space and quotes alone, so
// that the other characters can be counted off; where the file spells one
// otherwise (an escape in double quotes), it is the begin of the text.
func (t Text) PositionOf(offset int) position {
	start := position{t.Node.Line, t.Node.Column}
	c := cursor{lines: t.Src.Lines, position: start}
	switch {
	case t.Node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		c.position = position{start.Line + 1, 1}
	case t.Node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		c.Column++
	}
	for i, r := range t.S {
		switch {
		case unicode.IsSpace(r):
			continue
		case !c.find(r):
			return start
		case i >= offset:
			return c.position
		}
		if c.Column++; r == '\'' && t.Node.Style&yaml.SingleQuotedStyle != 0 {
			c.Column++ // it is doubled
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
	for ; c.Line <= len(c.lines); c.Line, c.Column = c.Line+1, 1 {
		if c.row != c.Line {
			c.row, c.runes = c.Line, []rune(c.lines[c.Line-1])
		}
		for ; c.Column <= len(c.runes); c.Column++ {
			got := c.runes[c.Column-1]
			if !unicode.IsSpace(got) && (got != '\\' || r == '\\') {
				return got == r
			}
		}
	}
	return false
}

// Opening is the start of a variable in a text.
const Opening = "${{"
