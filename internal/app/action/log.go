package action

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/millhand/millhand/internal/text/printable"
)

// Location is the location of an annotation: a file relative to the repository's root,
// and a line and column from 1. The zero value is no location.
type Location struct {
	File         string
	Line, Column int
}

// Annotation is a message in the overview of a workflow run. Level is error, warning or notice.
type Annotation struct {
	Level    string
	Title    string
	Location Location
	Message  string
}

// Command returns the annotation as a workflow command, one line of the log.
func (a Annotation) Command() string {
	properties := []string{"title=" + property(a.Title)}
	if a.Location.File != "" {
		properties = append(properties, "file="+property(a.Location.File))
		if a.Location.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", a.Location.Line))
		}
		if a.Location.Column > 0 {
			properties = append(properties, fmt.Sprintf("col=%d", a.Location.Column))
		}
	}
	return fmt.Sprintf("::%s %s::%s\n", a.Level, strings.Join(properties, ","), data(a.Message))
}

// data escapes the message of a command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(harmless(s))
}

// property escapes the value of a command's property.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}

// harmless breaks the commands that a runner executes anywhere in a line, removes styles,
// and replaces invisible characters.
func harmless(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x2028, r == 0x2029:
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(printable.Unstyled(s), "\uFFFD"))
	return printable.DisarmInside(s)
}

// Log writes text to the log of a step, line by line, and breaks the commands
// of CIs except allowed ones. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	out     io.Writer
	allowed []string
	line    []byte // incomplete line
}

// NewLog returns a log that writes to out. Lines that start with one of allowed may be
// commands.
func NewLog(out io.Writer, allowed ...string) *Log { return &Log{out: out, allowed: allowed} }

// IsLog reports whether a writer is the log of the action: it runs the command, and has both of its streams.
func IsLog(w io.Writer) bool {
	_, ok := w.(*Log)
	return ok
}

// maxLine is the maximum number of buffered bytes of a line. A longer line is split into
// several, which are all checked.
const maxLine = 64 << 10

// Write implements [io.Writer].
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		i := bytes.IndexAny(rest, "\r\n") // the runner accepts both as line ends
		if i < 0 {
			i = len(rest) - 1
		}
		l.line = append(l.line, rest[:i+1]...)
		rest = rest[i+1:]
		if last := l.line[len(l.line)-1]; last != '\n' && last != '\r' && len(l.line) < maxLine {
			continue
		}
		if err := l.flush(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Annotate writes an annotation. It ignores write errors, like Write.
func (l *Log) Annotate(a Annotation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush() //nolint:errcheck // see above
	fmt.Fprint(l.out, a.Command())
}

// Close writes a last line without a newline.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

func (l *Log) flush() error {
	if len(l.line) == 0 {
		return nil
	}
	line := disarm(string(l.line), l.allowed)
	if last := line[len(line)-1]; last != '\n' && last != '\r' {
		line += "\n"
	}
	l.line = l.line[:0]
	_, err := io.WriteString(l.out, line)
	return err
}

// disarm breaks the commands in one line, except one of allowed at its start.
func disarm(line string, allowed []string) string {
	for _, start := range allowed {
		if strings.HasPrefix(line, start) {
			return printable.DisarmInside(line)
		}
	}
	return printable.Disarm(line)
}
