package commands

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/ecosystem/failures"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/internal/text/terminal"
)

// ExcerptBytes is the maximum size of a command's output in events and for the model, which also gets the path of the rest.
const ExcerptBytes = 2700

const (
	tailBytes     = 16 << 10 // of a command's output, in which a fault of the environment is looked for
	lineBytes     = 240      // of what failed, in the reason of a job
	outputPattern = "command-*.txt"

	savedBytes = 64 << 20 // of a command's output that are saved in its file, before the tail
)

// Ran is a command of the task that has run.
type Ran struct {
	event.Verify
	Output string // its tail
	Line   string // what failed, in one line
	denied string // what the sandbox denied
}

// printed is the output of a running command. It is held as an excerpt and a tail, and saved in
// a file once it is longer, so that an agent can read everything.
type printed struct {
	shown *terminal.Writer // to scan and tail
	scan  *failures.Scanner
	tail  *proc.Tail
	file  *outputFile
}

func newPrinted(file *outputFile) *printed {
	p := &printed{scan: failures.NewScanner(ExcerptBytes), tail: proc.NewTail(tailBytes), file: file}
	p.shown = terminal.NewWriter(io.MultiWriter(p.scan, p.tail))
	return p
}

// Write never fails: a full disk must not kill a command.
func (p *printed) Write(data []byte) (int, error) {
	p.file.add(data)
	return p.shown.Write(data)
}

// note adds a line that the command did not print.
func (p *printed) note(text string) {
	p.shown.Flush() //nolint:errcheck // neither writer fails
	if last := p.tail.Bytes(); len(last) > 0 && last[len(last)-1] != '\n' {
		text = "\n" + text
	}
	fmt.Fprint(p, text)
	p.shown.Flush() //nolint:errcheck // neither writer fails
}

// into completes the result of a command with its output.
func (p *printed) into(v *Ran, redactor *redact.Redactor) {
	p.shown.Flush() //nolint:errcheck // neither writer fails
	v.Output = redactor.Held(strings.ToValidUTF8(string(p.tail.Bytes()), "\uFFFD"))
	if v.Passed {
		v.Tail = redactor.Held(p.scan.Tail())
		p.file.remove()
		return
	}
	v.Tail, v.Line = redactor.Held(p.scan.Excerpt()), redactor.Held(p.scan.Line(lineBytes))
	if p.scan.Complete() {
		p.file.remove()
		return
	}
	v.OutputPath = p.file.finish(p.tail.Bytes())
}

// outputFile is the file with the output of a command, which is created once the output is
// longer than an excerpt. Without free space it is omitted.
type outputFile struct {
	dir    *files.Dir // of the job's saved outputs
	redact *redact.Redactor

	first []byte // output before the file was created
	size  int64
	file  *os.File
	path  string         // below dir
	clean *redact.Writer // to file
	err   error
}

func (f *outputFile) add(data []byte) {
	if f.size += int64(len(data)); f.err != nil || f.size > savedBytes {
		return
	}
	if f.file == nil {
		if f.first = append(f.first, data...); len(f.first) <= ExcerptBytes {
			return
		}
		data, f.first = f.first, nil
		if f.file, f.path, f.err = f.dir.CreateTemp(outputPattern); f.err != nil {
			return
		}
		f.clean = f.redact.Writer(f.file)
	}
	_, f.err = f.clean.Write(data)
}

// finish completes the file with the tail of an output that is too long for it, and returns its
// path in the report directory, "" if it is missing.
func (f *outputFile) finish(tail []byte) string {
	if f.file == nil {
		return ""
	}
	if f.err == nil && f.size > savedBytes {
		_, f.err = fmt.Fprintf(f.clean, "\n... (the middle of %d bytes is omitted)\n%s", f.size, tail)
	}
	if f.err == nil {
		f.err = f.clean.Flush()
	}
	if err := f.file.Close(); f.err == nil {
		f.err = err
	}
	if f.err != nil {
		f.dir.Remove(f.path) //nolint:errcheck // an extra file is harmless
		return ""
	}
	return f.dir.Rel(filepath.Join(f.dir.Path(), f.path))
}

func (f *outputFile) remove() {
	if f.file != nil {
		f.file.Close()
		f.dir.Remove(f.path) //nolint:errcheck // an extra file is harmless
	}
}

// CopyOutput copies an output of the report directory to those of another job, and returns its path; "" if that fails.
func CopyOutput(to *files.Dir, redactor *redact.Redactor, reports *files.Dir, name string) string {
	return (&outputFile{dir: to, redact: redactor}).copy(reports, name)
}

// copy makes the file a copy of another one in the report directory, and returns its path; ""
// if that fails.
func (f *outputFile) copy(reports *files.Dir, name string) string {
	from, err := reports.Read(name)
	if err != nil {
		return ""
	}
	defer from.Close()
	if f.file, f.path, err = f.dir.CreateTemp(outputPattern); err != nil {
		return ""
	}
	f.clean = f.redact.Writer(f.file)
	_, f.err = io.Copy(f.clean, from)
	return f.finish(nil)
}

// WithOutput returns the excerpt of an output, with the path of the complete one in the report
// directory for an agent.
func WithOutput(reports *files.Dir, text, outputPath string) string {
	if outputPath != "" {
		outputPath = filepath.Join(reports.Path(), filepath.FromSlash(outputPath))
	}
	return event.Excerpt(text, outputPath)
}
