package patterns

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Limits of a patch. What is above them is not compared, and its job is listed for reading.
const (
	maxPatch = 16 << 20 // bytes
	maxLine  = 64 << 10 // bytes
	maxBlock = 1 << 20  // bytes of neighbouring changed lines
)

// file is a changed file of a patch.
type file struct {
	old, path        string // names before and after; equal unless it was renamed
	oldMode, mode    string // as git writes them; empty if they did not change
	created, deleted bool
	binary           bool
}

// block is a group of neighbouring changed lines.
type block struct {
	file     *file
	line     int // in the new version of the file, from 1
	old, new []string
}

// visitor receives the contents of a patch.
type visitor interface {
	begin(f *file)                         // before the hunks of a file
	context(f *file, line string)          // an unchanged line
	block(b *block)                        // changed lines
	end(f *file)                           // after them
	unread(f *file, line int, what string) // something that can't be compared; f is nil for all of it
}

// reader reads a patch of git.
type reader struct {
	in      *bufio.Reader
	left    int
	pending string // line that was read and not used
	again   bool
	v       visitor
	file    *file
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
	f := &file{}
	f.old, f.path = bothNames(names)
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
		f.field(line)
	}
}

// field reads a line of a header.
func (f *file) field(line string) {
	set := func(to *string, prefix string) bool {
		rest, ok := strings.CutPrefix(line, prefix)
		if ok {
			*to = rest
		}
		return ok
	}
	name := ""
	switch {
	case set(&f.oldMode, "old mode "), set(&f.mode, "new mode "):
	case set(&f.mode, "new file mode "):
		f.created = true
	case set(&f.oldMode, "deleted file mode "):
		f.deleted = true
	case set(&name, "rename from "), set(&name, "copy from "):
		f.old = unquoted(name)
	case set(&name, "rename to "), set(&name, "copy to "):
		f.path = unquoted(name)
	case set(&name, "--- "):
		if n, ok := strings.CutPrefix(unquoted(strings.TrimSuffix(name, "\t")), "a/"); ok {
			f.old = n
		}
	case set(&name, "+++ "):
		if n, ok := strings.CutPrefix(unquoted(strings.TrimSuffix(name, "\t")), "b/"); ok {
			f.path = n
		}
	case line == "GIT binary patch", strings.HasPrefix(line, "Binary files "):
		f.binary = true
	}
}

// bothNames returns the names of a file in the first line of its header.
func bothNames(names string) (before, after string) {
	if half := len(names) / 2; len(names)%2 == 1 && names[half] == ' ' {
		a, b := unquoted(names[:half]), unquoted(names[half+1:])
		if strings.HasPrefix(a, "a/") && strings.HasPrefix(b, "b/") {
			return a[2:], b[2:]
		}
	}
	return names, names
}

// unquoted returns a name that git has quoted.
func unquoted(name string) string {
	if !strings.HasPrefix(name, `"`) {
		return name
	}
	if plain, err := strconv.Unquote(name); err == nil {
		return plain
	}
	return name
}

// hunk reads the lines of a hunk, whose numbers are given after "@@ -".
func (r *reader) hunk(at string) error {
	old, rest, _ := strings.Cut(at, " ")
	after, _, _ := strings.Cut(strings.TrimPrefix(rest, "+"), " ")
	_, left := numbers(old)
	line, right := numbers(after)
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

// numbers reads the start and the length of a hunk.
func numbers(s string) (start, length int) {
	first, second, two := strings.Cut(s, ",")
	start, _ = strconv.Atoi(first)
	length = 1
	if two {
		length, _ = strconv.Atoi(second)
	}
	return max(0, start), min(max(0, length), maxPatch)
}
