package patch

import (
	"fmt"
	"regexp"
	"strings"
)

// noNewline is the line that diff programs write after a last line without a
// newline.
const noNewline = `\ No newline at end of file`

// ranges matches the line numbers that diff programs write after "@@", which
// are not context.
var ranges = regexp.MustCompile(`^-\d+(,\d+)? \+\d+(,\d+)? @@ ?`)

// update reads a section that moves a file or changes it by hunks.
func (p *parser) update(f *File) error {
	if err := p.move(f); err != nil {
		return err
	}
	for p.skip(); p.at < len(p.lines) && !p.ends(); p.skip() {
		h, err := p.hunk(len(f.Hunks) == 0)
		if err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	if len(f.Hunks) == 0 && f.MoveTo == "" {
		return fmt.Errorf("line %d of the patch: %s %s has no hunk; add lines that start with a space, - or +", f.Line, updateMark, f.Path)
	}
	return nil
}

// skip passes over empty lines, and over blank ones that "@@" follows.
func (p *parser) skip() {
	for p.at < len(p.lines) && p.lines[p.at] == "" {
		p.at++
	}
	p.skipToHead()
}

// skipToHead passes over blank lines if "@@" follows: else they are a hunk's.
func (p *parser) skipToHead() {
	i := p.at
	for i < len(p.lines) && strings.TrimSpace(p.lines[i]) == "" {
		i++
	}
	if i < len(p.lines) && strings.HasPrefix(p.lines[i], hunkMark) {
		p.at = i
	}
}

func (p *parser) move(f *File) error {
	p.skip()
	if p.at == len(p.lines) {
		return nil
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(p.lines[p.at]), moveMark)
	if !ok {
		return nil
	}
	var err error
	f.MoveTo, err = p.path(moveMark, rest)
	p.at++
	return err
}

// ends reports whether a section that can have lines with a space before them
// ends here: only marks at the margin end it.
func (p *parser) ends() bool {
	line := p.lines[p.at]
	for _, mark := range []string{addMark, updateMark, deleteMark} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return false
}

// hunk reads a hunk. The first one of a file needs no "@@" before it.
func (p *parser) hunk(first bool) (Hunk, error) {
	h := Hunk{Line: p.number()}
	if !p.heads(&h) && !first {
		return h, p.errorf("%s: start another hunk with @@", quote(p.lines[p.at]))
	}
	if err := p.body(&h); err != nil {
		return h, err
	}
	if strings.Join(h.Lines, "") == "" {
		return h, p.errorf("the hunk that starts at line %d has no lines", h.Line)
	}
	return h, nil
}

// heads reads the lines with "@@" before a hunk, and reports whether there are
// any.
func (p *parser) heads(h *Hunk) bool {
	found := false
	for ; p.at < len(p.lines); p.skipToHead() {
		rest, ok := strings.CutPrefix(p.lines[p.at], hunkMark)
		if !ok {
			break
		}
		found = true
		p.at++
		rest = strings.TrimPrefix(rest, " ")
		rest = rest[len(ranges.FindString(rest)):]
		if strings.TrimSpace(rest) != "" {
			h.Contexts = append(h.Contexts, rest)
		}
	}
	return found
}

// unended notes that the last line so far has no newline.
func (h *Hunk) unended() {
	switch n := len(h.Lines) - 1; {
	case n < 0:
	case sign(h.Lines[n]) == '-':
		h.Final = FinalAdded
	case sign(h.Lines[n]) == '+' && h.Final == FinalKept:
		h.Final = FinalRemoved
	default:
		h.Final = FinalKept
	}
}

// body parses the lines of a hunk.
func (p *parser) body(h *Hunk) error {
	for ; p.at < len(p.lines) && !p.ends(); p.at++ {
		line := p.lines[p.at]
		switch {
		case strings.HasPrefix(line, "*") && strings.TrimSpace(line) == eofMark:
			h.AtEnd = true
			p.at++
			return nil
		case strings.HasPrefix(line, hunkMark):
			return nil
		case line == noNewline:
			h.unended()
		case line != "" && strings.IndexByte(" -+", line[0]) >= 0:
			h.Lines = append(h.Lines, line)
		case strings.TrimSpace(line) == "":
			h.Lines = append(h.Lines, "")
		default:
			return p.errorf("%s: every line of a hunk must start with a space (context), - (removed) or + (added)", quote(line))
		}
	}
	return nil
}
