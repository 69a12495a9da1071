package patch

import (
	"errors"
	"fmt"
	"strings"
)

// The lines of the format.
const (
	beginMark  = "*** Begin Patch"
	endMark    = "*** End Patch"
	addMark    = "*** Add File:"
	updateMark = "*** Update File:"
	deleteMark = "*** Delete File:"
	moveMark   = "*** Move to:"
	eofMark    = "*** End of File"
	hunkMark   = "@@"
)

// maxPath is the maximum length of a path in bytes on any system.
const maxPath = 4096

// Parse parses a patch. Text that models write around it is accepted: a byte-order
// mark, a here-document or code fence, prose. White space around the marker lines
// of the patch and its sections is ignored, and so are CRLF line endings
// of the patch itself.
//
// Errors have the line, and nothing is dropped silently: everything between the
// markers that is not valid is an error.
func Parse(text string) (Patch, error) {
	lines, first, err := envelope(text)
	if err != nil {
		return Patch{}, err
	}
	p := parser{lines: lines, first: first}
	for p.at < len(p.lines) {
		if err := p.section(); err != nil {
			return Patch{}, err
		}
	}
	if len(p.patch.Files) == 0 {
		return Patch{}, errors.New("patch is empty; put sections such as \"*** Update File: path\" between *** Begin Patch and *** End Patch")
	}
	return p.patch, nil
}

// parser parses the lines between the first and the last mark.
type parser struct {
	lines []string
	first int // number of lines[0] in the text, from 1
	at    int
	patch Patch
}

func (p *parser) number() int { return p.first + p.at }

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d of the patch: %w", p.number(), fmt.Errorf(format, args...))
}

// section parses one section, or skips an empty line.
func (p *parser) section() error {
	line := strings.TrimSpace(p.lines[p.at])
	if line == "" {
		p.at++
		return nil
	}
	for _, kind := range []struct {
		mark string
		op   Op
		read func(*File) error
	}{
		{addMark, Add, p.content},
		{updateMark, Update, p.update},
		{deleteMark, Delete, nothing},
	} {
		rest, ok := strings.CutPrefix(line, kind.mark)
		if !ok {
			continue
		}
		f := File{Op: kind.op, Line: p.number()}
		var err error
		if f.Path, err = p.path(kind.mark, rest); err != nil {
			return err
		}
		p.at++
		if err := kind.read(&f); err != nil {
			return err
		}
		p.patch.Files = append(p.patch.Files, f)
		return nil
	}
	return p.stray(line)
}

// nothing parses the empty body of a section.
func nothing(*File) error { return nil }

// stray returns the error for a line that does not start a section.
func (p *parser) stray(line string) error {
	if n := len(p.patch.Files); n > 0 && p.patch.Files[n-1].Op == Delete {
		return p.errorf("unexpected %s after %s, which has no content lines", quote(line), deleteMark)
	}
	return p.errorf("%s does not start a section; expected %q, %q or %q", quote(line), addMark+" path", updateMark+" path", deleteMark+" path")
}

// path returns the path after a mark.
func (p *parser) path(mark, rest string) (string, error) {
	name := strings.TrimSpace(rest)
	switch {
	case name == "":
		return "", p.errorf("%q has no file path", mark)
	case len(name) > maxPath:
		return "", p.errorf("path too long: %d bytes", len(name))
	}
	return name, nil
}

// content parses the lines of an added file. Empty lines between them are lines
// of the file without their "+".
func (p *parser) content(f *File) error {
	var b strings.Builder
	empty := 0
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		switch {
		case line == "":
			empty++
		case line[0] == '+':
			b.WriteString(strings.Repeat("\n", empty))
			b.WriteString(line[1:])
			b.WriteByte('\n')
			empty = 0
		case strings.HasPrefix(strings.TrimSpace(line), "*** "):
			f.Content = b.String()
			return nil
		case line == noNewline:
		case strings.TrimSpace(line) == "":
			empty++
		default:
			return p.errorf("%s in %s %s: prefix every line of a new file with +", quote(line), addMark, f.Path)
		}
	}
	f.Content = b.String()
	return nil
}
