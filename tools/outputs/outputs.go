// Package outputs truncates the outputs of calls to what a model gets, and saves them in full for it, with secrets redacted, until they are
// old ([Prune]) or the disk of the report directory is full ([GiveUp]). It does not know what the outputs mean.
package outputs

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/tools/cut"
)

// The default limits of one call's output.
const (
	DefaultLines = 2000
	DefaultBytes = 50 << 10
)

// MaxLine is the maximum number of characters of a line that the tool read shows.
const MaxLine = 2000

// Limits limits the output that one call returns to the model. The zero
// value means the defaults, 2,000 lines and 50 KiB.
type Limits struct {
	Lines int
	Bytes int
}

// Store truncates the outputs of a session's calls.
type Store struct {
	Dir    *files.Dir // where they are saved in full; nil: nowhere
	Limits Limits
	Redact *redact.Redactor // of secrets in saved outputs; nil: none are known
}

// Text is an output as the model gets it.
type Text struct {
	Text string
	Cut  bool   // something is omitted
	Path string // of the file with the full output; "" for none
}

// Bound truncates an output to the session's limits, at line ends if possible, and
// saves its full form if something is omitted.
// Sizes are those of the text as JSON, in which a model gets it: control
// characters take six bytes there.
func (s Store) Bound(text, full string, tail bool) Text {
	saved := cut.Bytes(cut.Lines(text, s.Lines(), tail), s.Bytes(), tail)
	if len(saved) == len(text) {
		return Text{Text: text}
	}
	b := Text{Cut: true}
	where := "narrow the request"
	if path, err := s.save(full); err == nil && path != "" {
		b.Path = path
		where = savedNote(fullOutput, path, saved)
	}
	dropped := len(text) - len(saved)
	if tail {
		b.Text = fmt.Sprintf("(output truncated: the first %d bytes are omitted; %s)\n\n%s", dropped, where, saved)
	} else {
		b.Text = fmt.Sprintf("%s\n\n(output truncated: the last %d bytes are omitted; %s)", saved, dropped, where)
	}
	return b
}

// fullOutput describes a complete file in [savedNote].
const fullOutput = "full output"

// savedNote describes where an output is saved and how to read more of it. A line
// longer than read's maximum can't be read by lines.
func savedNote(what, path, shown string) string {
	how := "use read with offset and limit, or grep"
	if len(shown) > MaxLine && !strings.Contains(strings.TrimSuffix(shown, "\n"), "\n") {
		how = "it is one very long line, use cut: cut -c 1-2000 " + path
	}
	return fmt.Sprintf("%s saved to %s: %s", what, path, how)
}

// Lines is the maximum number of lines of one output.
func (s Store) Lines() int {
	if s.Limits.Lines > 0 {
		return s.Limits.Lines
	}
	return DefaultLines
}

// Bytes is the maximum size of one output in bytes of JSON.
func (s Store) Bytes() int {
	if s.Limits.Bytes > 0 {
		return s.Limits.Bytes
	}
	return DefaultBytes
}

// save writes a full output to the session's output directory.
func (s Store) save(text string) (string, error) {
	if s.Dir == nil {
		return "", nil
	}
	f, name, err := s.Dir.CreateTemp("output-*.txt")
	if err != nil {
		return "", fmt.Errorf("save output: %w", err)
	}
	_, err = f.WriteString(s.Redact.Text(text))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", fmt.Errorf("save output: %w", err)
	}
	return filepath.Join(s.Dir.Path(), name), nil
}
