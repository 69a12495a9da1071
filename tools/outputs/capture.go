package outputs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/internal/text/terminal"
	"github.com/millhand/millhand/tools/cut"
)

// MaxSpill is how much of a command's output is saved to disk, in bytes.
const MaxSpill = 64 << 20

// errSpill is the error of a saved output that is incomplete because of
// MaxSpill.
var errSpill = errors.New("output too large to save completely")

// Capture collects a command's output in bounded memory: it holds the tail of what a
// terminal would show, and saves all bytes of the output to a file once they exceed what the
// model gets.
type Capture struct {
	store Store
	name  string           // tool name, the prefix of the file name
	size  int64            // bytes of the output
	shown *terminal.Writer // to tail
	tail  *proc.Tail
	spill *os.File
	path  string         // of spill, relative to the output directory
	clean *redact.Writer // redacts what is written to spill
	first []byte         // output from before spill was created
	err   error          // why the file is incomplete; nil if it is complete
}

// Capture returns what collects the output of a call of a tool.
func (s Store) Capture(tool string) *Capture {
	tail := proc.NewTail(s.Bytes() + 1)
	return &Capture{store: s, name: tool, tail: tail, shown: terminal.NewWriter(tail)}
}

// Write never fails: a full disk must not kill a command.
func (c *Capture) Write(p []byte) (int, error) {
	c.size += int64(len(p))
	c.shown.Write(p) //nolint:errcheck // never fails
	if c.spill == nil && c.err == nil {
		c.first = append(c.first, p...)
		if len(c.first) > c.store.Bytes()/2 {
			c.open()
		}
		return len(p), nil
	}
	if c.err == nil && c.size > MaxSpill {
		c.err = errSpill
	}
	if c.err == nil {
		_, c.err = c.clean.Write(p)
	}
	return len(p), nil
}

// open creates the file and writes the output so far.
func (c *Capture) open() {
	if c.store.Dir == nil {
		c.err, c.first = os.ErrNotExist, nil
		return
	}
	if c.spill, c.path, c.err = c.store.Dir.CreateTemp(c.name + "-*.txt"); c.err == nil {
		c.clean = c.store.Redact.Writer(c.spill)
		_, c.err = c.clean.Write(c.first)
	}
	c.first = nil
}

// Total returns the size of the output in bytes.
func (c *Capture) Total() int64 { return c.size }

// Text returns the output as the model gets it.
func (c *Capture) Text() Text {
	c.shown.Flush() //nolint:errcheck // never fails
	saved := strings.ToValidUTF8(string(c.tail.Bytes()), "\uFFFD")
	shown := cut.Bytes(cut.Lines(saved, c.store.Lines(), true), c.store.Bytes(), true)
	if len(shown) == len(saved) && c.tail.Total() <= int64(c.store.Bytes()) {
		return Text{Text: shown}
	}
	b := Text{Cut: true}
	where := "narrow the command to produce less output"
	if c.spill == nil && c.err == nil {
		c.open()
	}
	if c.spill != nil {
		b.Path = filepath.Join(c.store.Dir.Path(), c.path)
		where = savedNote(c.saved(), b.Path, shown)
	}
	b.Text = fmt.Sprintf("(output truncated: only the tail of %d bytes is shown; %s)\n\n%s", c.Total(), where, shown)
	return b
}

// saved describes how much of the output the file has.
func (c *Capture) saved() string {
	switch {
	case c.err == nil:
		return fullOutput
	case errors.Is(c.err, errSpill):
		return fmt.Sprintf("the first %d MiB of the output", MaxSpill>>20)
	}
	return fmt.Sprintf("an incomplete copy of the output (%v)", c.err)
}

// Close closes the file, and removes it if the model got the full output.
func (c *Capture) Close() {
	if c.spill == nil {
		return
	}
	if c.clean != nil {
		c.clean.Flush() //nolint:errcheck // the result was already built
	}
	c.spill.Close()
	if c.tail.Total() <= int64(c.store.Bytes()) && !c.Text().Cut {
		c.store.Dir.Remove(c.path) //nolint:errcheck // an extra file is harmless
	}
}
