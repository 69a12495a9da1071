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
	if pass == len(p.indexes) {
		if err := p.work.spend(8 * len(p.doc.lines)); err != nil {
			return nil, err
		}
		p.indexes = append(p.indexes, newIndex(p.doc, passes()[pass]))
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
		i, err := p.find(block, above, h.AtEnd || r.atEnd, r.atEnd)
		if err != nil {
			return spot{}, err
		}
		if i >= 0 {
			p.cursor = i + len(block)
			return spot{i, r.lines}, nil
		}
	}
	return spot{}, p.misplaced(old(h.Lines))
}

// insert positions new lines without context: after the line that the
// "@@" contexts name, or without contexts at the end of the file.
func (p *placer) insert(h Hunk, r reading, above int) (spot, error) {
	if len(h.Contexts) == 0 || h.AtEnd {
		return spot{len(p.doc.lines), r.lines}, nil
	}
	if above+1 < p.cursor {
		return spot{}, p.disordered(above)
	}
	p.cursor = above + 1
	return spot{p.cursor, r.lines}, nil
}

// contexts returns the line of the last context, or -1 if not
// found. A context is searched after the previous hunk, and then before it: several
// hunks of one function have the same context.
func (p *placer) contexts(list []string) (int, error) {
	above := -1
	for _, c := range list {
		block := []string{c}
		i, err := p.seek(block, max(p.cursor, above+1))
		if err == nil && i < 0 && above+1 < p.cursor {
			i, err = p.seek(block, above+1)
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

// find returns the position of a block of lines, or -1: at the end of the file if
// required, otherwise anywhere after the contexts, which may
// be its first line.
func (p *placer) find(block []string, above int, atEnd, only bool) (int, error) {
	start := max(p.cursor, above+1)
	if atEnd {
		i := len(p.doc.lines) - len(block)
		if i >= p.cursor && i >= above {
			if ok, err := p.matchesAt(block, i); ok || err != nil {
				return i, err
			}
		}
		if only {
			return -1, nil
		}
	}
	repeated := above >= p.cursor && above >= 0
	if repeated && len(block) > 1 {
		if ok, err := p.matchesAt(block, above); ok || err != nil {
			return above, err
		}
	}
	i, err := p.seek(block, start)
	if i < 0 && err == nil && repeated && len(block) == 1 {
		return above, nil
	}
	return i, err
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
// strictest possible pass, or -1.
func (p *placer) seek(block []string, start int) (int, error) {
	for pass := range passes() {
		x, err := p.index(pass)
		if err != nil {
			return -1, err
		}
		ids, ok := x.numbers(block)
		if !ok {
			continue
		}
		i := x.next(start, ids)
		end := len(p.doc.lines)
		if i >= 0 {
			end = i
		}
		if err := p.work.spend(len(block) + max(0, end-start)); err != nil {
			return -1, err
		}
		if i >= 0 {
			return i, nil
		}
	}
	return -1, nil
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
