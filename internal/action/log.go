package action

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Place is what an annotation points to: a file relative to the repository's
// root and a line from 1. The zero value points nowhere.
type Place struct {
	File string
	Line int
}

// Annotation is a word to the people who look at a workflow's run. Level is
// error or warning.
type Annotation struct {
	Level   string
	Title   string
	Place   Place
	Message string
}

// Command returns the annotation as a line of the log that the runner obeys.
func (a Annotation) Command() string {
	properties := []string{"title=" + property(a.Title)}
	if a.Place.File != "" {
		properties = append(properties, "file="+property(a.Place.File))
		if a.Place.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", a.Place.Line))
		}
	}
	return fmt.Sprintf("::%s %s::%s\n", a.Level, strings.Join(properties, ","), data(a.Message))
}

// data escapes the text of a command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(harmless(s))
}

// property escapes the value of a command's property.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}

// harmless breaks the older form of a command, which the runner obeys wherever
// it stands in a line, and keeps what a message shows to what can be seen.
func harmless(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x2028, r == 0x2029:
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return older.ReplaceAllString(s, "#${1}#${2} [")
}

// Log passes text on to the log of a step, line by line, so that no line in it
// is a command to the runner but those that the log may hold: a runner obeys
// "::" at the start of a line, white space aside, and "##[" anywhere. It is
// safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	out     io.Writer
	allowed []string
	line    []byte // that is not ended yet
}

// NewLog makes a log on out. A line that begins with one of allowed may be a
// command.
func NewLog(out io.Writer, allowed ...string) *Log { return &Log{out: out, allowed: allowed} }

// maxLine is how much of a line is kept until it ends. What is longer is passed
// on as several lines, so that its rest is checked like any other.
const maxLine = 64 << 10

// Write implements [io.Writer].
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		i := bytes.IndexAny(rest, "\r\n") // either ends a line for the runner
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

// Annotate writes an annotation. Like the rest of the log, nobody may read it.
func (l *Log) Annotate(a Annotation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush() //nolint:errcheck // see above
	fmt.Fprint(l.out, a.Command())
}

// Close passes on a last line without an end.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

func (l *Log) flush() error {
	if len(l.line) == 0 {
		return nil
	}
	line := disarm(l.line, l.allowed)
	if last := line[len(line)-1]; last != '\n' && last != '\r' {
		line = append(line, '\n')
	}
	l.line = l.line[:0]
	_, err := l.out.Write(line)
	return err
}

// The two forms of a command. Characters that do not show stand in them,
// because the runner compares texts by the rules of a language, which pass over
// such characters.
var (
	newer = regexp.MustCompile(`^([\p{Z}\p{C}\p{M}]*):([\p{C}\p{M}]*):`)
	older = regexp.MustCompile(`#([\p{C}\p{M}]*)#([\p{C}\p{M}]*)\[`)
)

// disarm breaks what the runner would obey in one line.
func disarm(line []byte, allowed []string) []byte {
	line = older.ReplaceAll(line, []byte("#${1}#${2} ["))
	for _, start := range allowed {
		if bytes.HasPrefix(line, []byte(start)) {
			return line
		}
	}
	return newer.ReplaceAll(line, []byte("${1}: :"))
}
