package patch

import "strings"

// placer finds the positions of a file's hunks in order.
type placer struct {
	doc     document
	indexes []*index // by pass, created when first needed
	cursor  int      // the first line after the previous hunks
	work    *work
}

// index returns the lines of the file as normalised by the pass with this number.
func (p *placer) index(pass int) (*index, error) {
	for pass >= len(p.indexes) {
		if err := p.work.spend(8 * len(p.doc.lines)); err != nil {
			return nil, err
		}
		p.indexes = append(p.indexes, newIndex(p.doc, passes()[len(p.indexes)]))
	}
	return p.indexes[pass], nil
}

// locate finds the position of a hunk, and moves the cursor after it.
func (p *placer) locate(h Hunk) (spot, error) {
	above, err := p.contexts(h.Contexts)
	if err != nil {
		return spot{}, err
	}
	for _, r := range readings(h) {
		block := old(r.lines)
		if len(block) == 0 {
			if r.atEnd && len(p.doc.lines) > 0 {
				continue
			}
			return p.insert(h, r, above)
		}
		i, err := p.find(h, block, above, r.atEnd)
		if err != nil {
			return spot{}, err
		}
		if i >= 0 {
			p.cursor = i + len(block)
			return spot{start: i, lines: r.lines}, nil
		}
	}
	return spot{}, p.misplaced(old(h.Lines))
}

// insert positions new lines without context: after the line that the
// "@@" contexts name, or without contexts at the end of the file.
func (p *placer) insert(h Hunk, r reading, above int) (spot, error) {
	if len(h.Contexts) == 0 || h.AtEnd {
		return spot{start: len(p.doc.lines), lines: r.lines}, nil
	}
	if above+1 < p.cursor {
		return spot{}, p.disordered(above)
	}
	if other, err := p.follow(h.Contexts, above+1); other >= 0 || err != nil {
		if err == nil {
			err = ambiguous(above, other)
		}
		return spot{}, err
	}
	p.cursor = above + 1
	return spot{start: p.cursor, lines: r.lines}, nil
}

// contexts returns the line of the last context, or -1 if not
// found. A context is searched after the previous hunk, and then before it: several
// hunks of one function have the same context.
func (p *placer) contexts(list []string) (int, error) {
	above := -1
	for _, c := range list {
		block := []string{c}
		i, _, err := p.seek(block, max(p.cursor, above+1))
		if err == nil && i < 0 && above+1 < p.cursor {
			i, _, err = p.seek(block, above+1)
		}
		if err != nil {
			return 0, err
		}
		if i < 0 {
			return 0, p.noContext(c)
		}
		above = i
	}
	return above, nil
}

// follow returns the line of the last context if all of them are found in order
// from start on, or -1.
func (p *placer) follow(contexts []string, start int) (int, error) {
	above := start - 1
	for _, c := range contexts {
		i, _, err := p.seek([]string{c}, above+1)
		if i < 0 || err != nil {
			return -1, err
		}
		above = i
	}
	return above, nil
}

// find returns the position of a block of lines, or -1: at the end of the file if
// required, otherwise anywhere after the contexts, which may
// be its first line. A block that also fits elsewhere is an error.
func (p *placer) find(h Hunk, block []string, above int, onlyAtEnd bool) (int, error) {
	start := max(p.cursor, above+1)
	if h.AtEnd || onlyAtEnd {
		i := len(p.doc.lines) - len(block)
		if i >= p.cursor && i >= above {
			if ok, err := p.matchesAt(block, i); ok || err != nil {
				return i, err
			}
		}
		if onlyAtEnd {
			return -1, nil
		}
	}
	repeated := above >= p.cursor && above >= 0
	if repeated && len(block) > 1 {
		if ok, err := p.matchesAt(block, above); ok || err != nil {
			return above, err
		}
	}
	i, pass, err := p.seek(block, start)
	if i < 0 && err == nil && repeated && len(block) == 1 {
		return above, nil
	}
	if i >= 0 && err == nil {
		err = p.unique(h, block, i, above, pass)
	}
	return i, err
}

// unique returns an error if a block that matches at line i below the contexts in a
// pass also matches elsewhere: anywhere below it if there are no contexts, below
// the same contexts again, or in the lines that are indented more than the context.
func (p *placer) unique(h Hunk, block []string, i, above, pass int) error {
	start := i + 1
	if len(h.Contexts) > 0 {
		again, err := p.follow(h.Contexts, i+1)
		if err != nil {
			return err
		}
		if again >= 0 {
			start = again + 1
		}
		j, err := p.next(block, i+1, pass)
		if err != nil || j < 0 {
			return err
		}
		if p.inside(above, j) {
			return ambiguous(i, j)
		}
		if again < 0 {
			return nil
		}
	}
	j, err := p.next(block, start, pass)
	if j >= 0 && err == nil {
		err = ambiguous(i, j)
	}
	return err
}

// inside reports whether all lines from above to j are indented more than above.
func (p *placer) inside(above, j int) bool {
	margin := func(i int) int {
		return len(p.doc.text(i)) - len(strings.TrimLeft(p.doc.text(i), " \t"))
	}
	for i := above + 1; i <= j; i++ {
		if strings.TrimSpace(p.doc.text(i)) != "" && margin(i) <= margin(above) {
			return false
		}
	}
	return true
}

// matchesAt reports whether a block matches at line i in any pass.
func (p *placer) matchesAt(block []string, i int) (bool, error) {
	for pass := range passes() {
		x, err := p.index(pass)
		if err != nil {
			return false, err
		}
		if err := p.work.spend(len(block)); err != nil {
			return false, err
		}
		if ids, ok := x.numbers(block); ok && x.at(i, ids) {
			return true, nil
		}
	}
	return false, nil
}

// seek returns the first line from start on where a block matches in the
// strictest possible pass, and the pass, or -1.
func (p *placer) seek(block []string, start int) (line, pass int, err error) {
	for pass := range passes() {
		if i, err := p.next(block, start, pass); i >= 0 || err != nil {
			return i, pass, err
		}
	}
	return -1, 0, nil
}

// next returns the first line from start on where a block matches in a pass, or -1.
func (p *placer) next(block []string, start, pass int) (int, error) {
	x, err := p.index(pass)
	if err != nil {
		return -1, err
	}
	ids, ok := x.numbers(block)
	if !ok {
		return -1, nil
	}
	i := x.next(start, ids)
	end := len(p.doc.lines)
	if i >= 0 {
		end = i
	}
	if err := p.work.spend(len(block) + max(0, end-start)); err != nil {
		return -1, err
	}
	return i, nil
}

// reading is one interpretation of a hunk's lines.
type reading struct {
	lines []string
	atEnd bool // valid only at the end of the file
}

// readings returns the interpretations of a hunk, the most literal first. Empty
// lines at its end may only separate it from the following text, and a blank last line
// may stand for the end of the file after its last newline.
func readings(h Hunk) []reading {
	lines := h.Lines
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	all := []reading{{lines: h.Lines}}
	switch {
	case len(lines) == len(h.Lines):
	case len(old(lines)) == 0:
		return []reading{{lines: lines}}
	default:
		all = append(all, reading{lines: lines})
	}
	if ended, ok := withoutLast(lines); ok {
		all = append(all, reading{lines: ended, atEnd: true})
	}
	return all
}

// withoutLast returns a hunk's lines without the last expected line, if that is
// blank. If new lines follow it, it becomes a new line.
func withoutLast(lines []string) ([]string, bool) {
	n := len(lines) - 1
	for n >= 0 && sign(lines[n]) == '+' {
		n--
	}
	if n < 0 || strings.TrimSpace(text(lines[n])) != "" {
		return nil, false
	}
	out := append([]string{}, lines[:n]...)
	if n < len(lines)-1 && sign(lines[n]) == ' ' {
		out = append(out, "+")
	}
	return append(out, lines[n+1:]...), true
}
