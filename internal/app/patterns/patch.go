package patterns

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/text/unidiff"
)

// Limits of a patch. What is above them is not compared, and its job is listed for reading.
const (
	maxPatch = 16 << 20 // bytes
	maxLine  = 64 << 10 // bytes
	maxBlock = 1 << 20  // bytes of neighbouring changed lines
)

// block is a group of neighbouring changed lines.
type block struct {
	file     *unidiff.File
	line     int // in the new version of the file, from 1
	old, new []string
}

// visitor receives the contents of a patch.
type visitor interface {
	begin(f *unidiff.File)                         // before the hunks of a file
	context(f *unidiff.File, line string)          // an unchanged line
	block(b *block)                                // changed lines
	end(f *unidiff.File)                           // after them
	unread(f *unidiff.File, line int, what string) // something that can't be compared; f is nil for all of it
}

// reader reads a patch of git.
type reader struct {
	in      *bufio.Reader
	left    int
	pending string // line that was read and not used
	again   bool
	v       visitor
	file    *unidiff.File
}

// newLines returns a buffer for the lines of patches.
func newLines() *bufio.Reader { return bufio.NewReaderSize(nil, maxLine) }

// read visits the files of a patch, whose lines it reads by a buffer of newLines. The error is that of the input.
func read(in io.Reader, lines *bufio.Reader, v visitor) error {
	lines.Reset(in)
	r := &reader{in: lines, left: maxPatch, v: v}
	for {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			r.finish()
			return nil
		case err != nil:
			return err
		}
		if names, ok := strings.CutPrefix(line, "diff --git "); ok {
			r.finish()
			if err := r.header(names); err != nil {
				return err
			}
			continue
		}
		if at, ok := strings.CutPrefix(line, "@@ -"); ok && r.file != nil {
			if err := r.hunk(at); err != nil {
				return err
			}
		}
	}
}

func (r *reader) finish() {
	if r.file != nil {
		r.v.end(r.file)
		r.file = nil
	}
}

// next returns a line without its line break. A line that is too long is cut, and reported.
func (r *reader) next() (string, error) {
	if r.again {
		r.again = false
		return r.pending, nil
	}
	chunk, err := r.in.ReadSlice('\n')
	line := string(chunk)
	if errors.Is(err, bufio.ErrBufferFull) {
		r.v.unread(r.file, 0, "a line of more than 64 KiB")
		for errors.Is(err, bufio.ErrBufferFull) && r.left > 0 {
			r.left -= len(chunk)
			chunk, err = r.in.ReadSlice('\n')
		}
	}
	if r.left -= len(chunk); r.left < 0 {
		r.v.unread(nil, 0, "a patch of more than 16 MiB")
		return "", io.EOF
	}
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return "", err
	}
	return strings.TrimSuffix(line, "\n"), nil
}

func (r *reader) unget(line string) { r.pending, r.again = line, true }

// header reads what git writes of a file before its first hunk.
func (r *reader) header(names string) error {
	f := unidiff.Header(names)
	r.file = f
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			r.v.begin(f)
			return nil
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(line, "@@ -") || strings.HasPrefix(line, "diff --git ") {
			r.v.begin(f)
			r.unget(line)
			return nil
		}
		f.Field(line)
	}
}

// hunk reads the lines of a hunk, whose numbers are given after "@@ -".
func (r *reader) hunk(at string) error {
	before, after := unidiff.Ranges(at)
	left, line, right := min(before.Length, maxPatch), after.Start, min(after.Length, maxPatch)
	b, size := &block{file: r.file, line: line}, 0
	flush := func() {
		if len(b.old)+len(b.new) > 0 {
			r.v.block(b)
		}
		b, size = &block{file: r.file, line: line}, 0
	}
	defer flush()
	for left > 0 || right > 0 {
		text, err := r.next()
		if errors.Is(err, io.EOF) {
			r.v.unread(r.file, line, "an incomplete patch")
			return nil
		}
		if err != nil {
			return err
		}
		content := text[min(1, len(text)):]
		if size += len(content); size > maxBlock {
			r.v.unread(r.file, b.line, "more than 1 MiB of neighbouring changes")
			flush()
		}
		switch {
		case strings.HasPrefix(text, "-") && left > 0:
			b.old = append(b.old, content)
			left--
		case strings.HasPrefix(text, "+") && right > 0:
			b.new = append(b.new, content)
			right, line = right-1, line+1
		case (text == "" || text[0] == ' ') && left > 0 && right > 0:
			left, right, line = left-1, right-1, line+1
			flush()
			r.v.context(r.file, content)
		case strings.HasPrefix(text, `\`): // no line break at the end of the file
		default:
			r.v.unread(r.file, line, "an invalid patch")
			r.unget(text)
			return nil
		}
	}
	return nil
}
