package file

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millhand/millhand/internal/files/workspace"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/tools/access"
	"github.com/millhand/millhand/tools/cut"
	"github.com/millhand/millhand/tools/media"
	"github.com/millhand/millhand/tools/outputs"
	"github.com/millhand/millhand/tools/tool"
)

//go:embed read.md
var readDescription string

const (
	readLines = 2000 // default limit
)

type readInput struct {
	FilePath string `json:"filePath" jsonschema:"file or directory to read: absolute, or relative to the workspace"`
	Offset   *int   `json:"offset,omitempty" jsonschema:"line number to start from, counting from 1"`
	Limit    *int   `json:"limit,omitempty" jsonschema:"maximum number of lines to read (default 2000)"`
}

// span is the range of lines to read.
type span struct{ offset, limit int } // first line, from 1, and maximum number of lines

// Read returns the tool read.
func Read() tool.Tool[Env] {
	return tool.Define(tool.Spec{Name: "read", Description: readDescription, ReadOnly: true, Cached: true, Deadline: time.Minute}, prepareRead)
}

func prepareRead(env Env, in readInput) (tool.Pending, error) {
	lines := span{offset: 1, limit: readLines}
	if in.Offset != nil {
		lines.offset = *in.Offset
	}
	if in.Limit != nil {
		lines.limit = *in.Limit
	}
	switch {
	case lines.offset < 1:
		return tool.Pending{}, fmt.Errorf("invalid offset %d: lines are numbered from 1", lines.offset)
	case lines.limit < 1:
		return tool.Pending{}, fmt.Errorf("invalid limit %d: must be positive (default %d)", lines.limit, readLines)
	}
	p, needs, err := env.Need("read", in.FilePath, access.ToRead)
	if err != nil {
		return tool.Pending{}, err
	}
	return tool.Pending{Title: p.Rel, Needs: needs, Do: func(ctx context.Context) (tool.Result, error) {
		return doRead(ctx, env, p, lines)
	}}, nil
}

// headSize is the number of bytes that decide on the type of a file.
const headSize = 8 << 10

func doRead(ctx context.Context, env Env, p workspace.Path, lines span) (tool.Result, error) {
	st, err := env.Workspace.Stat(p)
	switch {
	case access.IsMissing(err):
		return tool.Result{}, env.NotFound(p)
	case err != nil:
		return tool.Result{}, fmt.Errorf("read %s: %w", p, err)
	case st.IsDir():
		return readDirectory(env, p, lines)
	}
	f, err := env.Workspace.OpenFile(p)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%w: only regular files can be read", err)
	}
	defer f.Close()
	in2 := bufio.NewReaderSize(f, int(min(max(st.Size(), headSize), 64<<10))) // most files are small
	head, err := in2.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return tool.Result{}, fmt.Errorf("read %s: %w", p, err)
	}
	if kind := media.Of(p.Rel, head); kind != "" {
		return env.Accepts.Read(p, in2, kind, st.Size())
	}
	enc := encoding{}
	if marked16(head) {
		var text string
		text, enc, err = decodeAll(in2)
		if err != nil {
			return tool.Result{}, fmt.Errorf("read %s: %w", p, err)
		}
		in2, head = bufio.NewReader(strings.NewReader(text)), nil
	}
	if media.IsBinary(p.Rel, head) {
		return tool.Result{}, fmt.Errorf("%s is a binary file (%d bytes) and can't be shown as text", p, st.Size())
	}
	notes, loaded := env.notesFor(p.Rel)
	result, err := readText(ctx, env, p, in2, lines, enc, cut.Size(notes))
	if err != nil {
		if len(loaded) > 0 {
			env.Notes.forget(loaded)
		}
		return tool.Result{}, err
	}
	result.Output += notes
	result.Metadata.Loaded = loaded
	return result, nil
}

// readText reads lines of a text, in a result that leaves room for a number of bytes.
func readText(ctx context.Context, env Env, p workspace.Path, in *bufio.Reader, lines span, enc encoding, room int) (tool.Result, error) {
	page, err := readPage(ctx, in, lines.offset, lines.limit, max(pageBytes(env, p.Rel)-room, 512))
	if err != nil {
		return tool.Result{}, fmt.Errorf("read %s: %w", p, err)
	}
	env.Opened(p)
	return page.result(p, lines.offset, enc)
}

// pageBytes returns the size limit of the lines, without the text around them.
func pageBytes(env Env, name string) int {
	return max(env.MaxBytes-cut.Size(name)-256, 512)
}

// page is a range of lines of a file, formatted for a model.
type page struct {
	text  strings.Builder
	lines int  // lines in text
	seen  int  // lines read, including skipped ones
	total int  // lines of the file, if it has more
	least bool // the file has more than total lines: it was not read to its end
	more  bool // the file has more lines
	full  bool // the page ended because of its size, not the number of lines
	wrong int  // bytes in text that are not UTF-8, shown as U+FFFD
}

// maxCounted bounds the bytes that are read after a page only to count the lines.
const maxCounted = 32 << 20

// readPage reads lines starting at offset until the page is full, and counts the lines after
// it up to a bound, so that a large file costs little more than the lines shown or skipped.
func readPage(ctx context.Context, in *bufio.Reader, offset, limit, size int) (*page, error) {
	p := &page{}
	used := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line, err := nextLine(in)
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return nil, err
		}
		p.seen++
		if p.seen == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if p.seen < offset {
			continue
		}
		clipped, wrong := clipLine(line)
		shown := fmt.Sprintf("%d: %s\n", p.seen, clipped)
		used += cut.Size(shown)
		if p.lines == limit || used > size {
			p.more, p.full, p.total = true, p.lines < limit, p.seen
			p.seen--
			return p, p.count(ctx, in)
		}
		p.text.WriteString(shown)
		p.lines++
		p.wrong += wrong
	}
}

// count counts the lines that follow the page.
func (p *page) count(ctx context.Context, in *bufio.Reader) error {
	ended := true // whether the last line has its line end
	for counted := 0; ; {
		component, err := in.ReadSlice('\n')
		if counted += len(component); len(component) > 0 && ended {
			p.total++
		}
		ended = err == nil
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case counted >= maxCounted:
			p.least = true
			return nil
		}
	}
}

// of returns the number of lines of a file with more lines than the page.
func (p *page) of() string {
	if p.least {
		return fmt.Sprintf("of more than %d", p.total)
	}
	return fmt.Sprintf("of %d", p.total)
}

// nextLine returns a line without its line end. A line that is too long is
// truncated.
func nextLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		component, err := in.ReadSlice('\n')
		if len(line) <= outputs.MaxLine*utf8.UTFMax {
			line = append(line, component...)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

// clipLine truncates a line and makes it valid UTF-8. It also returns the number of
// bytes that are not UTF-8.
func clipLine(line []byte) (string, int) {
	n, wrong, before := 0, 0, false
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		bad := r == utf8.RuneError && size == 1
		if bad {
			wrong++
		}
		if !bad || !before { // a run of such bytes is shown as one U+FFFD
			n++
		}
		if n > outputs.MaxLine {
			return strings.ToValidUTF8(string(line[:i]), "\uFFFD") + "... (line truncated)", wrong
		}
		before = bad
		i += size
	}
	return strings.ToValidUTF8(string(line), "\uFFFD"), wrong
}

// result formats a page for the model.
func (p *page) result(at workspace.Path, offset int, enc encoding) (tool.Result, error) {
	if p.lines == 0 && offset > 1 && !p.more {
		return tool.Result{}, fmt.Errorf("offset %d is past the end of %s, which has %s", offset, at, figures.Count(p.seen, "line"))
	}
	last := offset + p.lines - 1
	var foot string
	switch {
	case p.full && p.lines == 0:
		foot = fmt.Sprintf("(line %d %s is too long to show)", offset, p.of())
	case p.full:
		foot = fmt.Sprintf("(output truncated by size: lines %d-%d %s shown; use offset %d to continue)", offset, last, p.of(), last+1)
	case p.more:
		foot = fmt.Sprintf("(lines %d-%d %s shown; use offset %d to continue)", offset, last, p.of(), last+1)
	default:
		foot = fmt.Sprintf("(end of file: %s)", figures.Count(p.seen, "line"))
	}
	switch name := enc.name(); {
	case name != "":
		foot += fmt.Sprintf("\n(file is %s; edit, apply_patch and write keep this encoding)", name)
	case p.wrong > 0:
		foot += fmt.Sprintf("\n(file is not UTF-8: %s shown as U+FFFD in these lines; edit and apply_patch keep them, and accept only ASCII as new text)", figures.Count(p.wrong, "byte"))
	}
	out := fmt.Sprintf("<path>%s</path>\n<type>file</type>\n<content>\n%s%s\n</content>", at, p.text.String(), foot)
	return tool.Result{Output: out, Bounded: true, Cut: p.more}, nil
}

// readDirectory lists the entries of a directory; names of directories end in a
// slash.
func readDirectory(env Env, p workspace.Path, in span) (tool.Result, error) {
	entries, err := env.Workspace.ReadDir(p)
	if err != nil {
		return tool.Result{}, err
	}
	var lines []string
	for _, e := range entries {
		name := textcut.Path(e.Name())
		if e.IsDir() {
			name += "/"
		}
		if e.Type()&fs.ModeSymlink != 0 && env.IsDir(path.Join(p.Abs, e.Name())) {
			name += "/"
		}
		lines = append(lines, name)
	}
	if in.offset > max(len(lines), 1) {
		return tool.Result{}, fmt.Errorf("offset %d is past the end of directory %s, which has %s", in.offset, p, figures.Count(len(lines), "entry"))
	}
	shown := lines[min(in.offset-1, len(lines)):]
	foot := fmt.Sprintf("(%s)", figures.Count(len(lines), "entry"))
	more := len(shown) > in.limit
	if more {
		shown = shown[:in.limit]
		foot = fmt.Sprintf("(%d of %d entries shown; use offset %d to continue)", in.limit, len(lines), in.offset+in.limit)
	}
	out := fmt.Sprintf("<path>%s</path>\n<type>directory</type>\n<entries>\n%s\n%s\n</entries>", p, strings.Join(shown, "\n"), foot)
	return tool.Result{Output: out}, nil
}
