package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/redact"
)

// maxSpill is how much of a command's output is kept on disk, in bytes.
const maxSpill = 64 << 20

// errSpill is why a file lacks what came later.
var errSpill = errors.New("output too large to save completely")

// capture takes a command's output in bounded memory: it keeps the end, and
// all of it in a file once that is more than the model is given.
type capture struct {
	env   *Env
	name  string // of the tool, with which the file's begins
	tail  *proc.Tail
	spill *os.File
	path  string         // of spill, below the directory of outputs
	clean *redact.Writer // on spill
	first []byte         // what came before the file was made
	err   error          // why the file is incomplete, if it is
}

func newCapture(env *Env, name string) *capture {
	return &capture{env: env, name: name, tail: proc.NewTail(env.sizeLimit() + 1)}
}

// Write takes everything and never fails: a full disk must not end a command.
func (c *capture) Write(p []byte) (int, error) {
	c.tail.Write(p) //nolint:errcheck // never fails
	if c.spill == nil && c.err == nil {
		c.first = append(c.first, p...)
		if len(c.first) > c.env.sizeLimit()/2 {
			c.open()
		}
		return len(p), nil
	}
	if c.err == nil && c.tail.Total() > maxSpill {
		c.err = errSpill
	}
	if c.err == nil {
		_, c.err = c.clean.Write(p)
	}
	return len(p), nil
}

// open makes the file and puts into it what has come so far.
func (c *capture) open() {
	if c.env.Outputs == nil {
		c.err, c.first = os.ErrNotExist, nil
		return
	}
	if c.spill, c.path, c.err = c.env.Outputs.CreateTemp(c.name + "-*.txt"); c.err == nil {
		c.clean = c.env.Redact.Writer(c.spill)
		_, c.err = c.clean.Write(c.first)
	}
	c.first = nil
}

func (c *capture) total() int64 { return c.tail.Total() }

// text returns what the model is given.
func (c *capture) text() bounded {
	kept := strings.ToValidUTF8(string(c.tail.Bytes()), "\uFFFD")
	shown := cutBytes(cutLines(kept, c.env.lineLimit(), true), c.env.sizeLimit(), true)
	if len(shown) == len(kept) && c.total() <= int64(c.env.sizeLimit()) {
		return bounded{text: shown}
	}
	b := bounded{cut: true}
	where := "narrow the command to produce less output"
	if c.spill == nil && c.err == nil {
		c.open()
	}
	if c.spill != nil {
		b.path = filepath.Join(c.env.Outputs.Path(), c.path)
		where = keptNote(c.kept(), b.path, shown)
	}
	b.text = fmt.Sprintf("(output truncated: only the tail of %d bytes is shown; %s)\n\n%s", c.total(), where, shown)
	return b
}

// kept says how much of the output the file holds.
func (c *capture) kept() string {
	switch {
	case c.err == nil:
		return fullOutput
	case errors.Is(c.err, errSpill):
		return fmt.Sprintf("the first %d MiB of the output", maxSpill>>20)
	}
	return fmt.Sprintf("an incomplete copy of the output (%v)", c.err)
}

// close closes the file, and removes it if the model was given everything.
func (c *capture) close() {
	if c.spill == nil {
		return
	}
	if c.clean != nil {
		c.clean.Flush() //nolint:errcheck // the model was told what it could be told
	}
	c.spill.Close()
	if c.total() <= int64(c.env.sizeLimit()) && !c.text().cut {
		c.env.Outputs.Remove(c.path) //nolint:errcheck // an output too many is no fault
	}
}
