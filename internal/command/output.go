package command

import (
	"errors"
	"io"
	"syscall"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
)

// output is the standard output of a command. Its Write does not fail, so that a command ends as it would
// have otherwise; the fault that [output.failure] returns decides the exit code of every command.
type output struct {
	to      io.Writer
	err     error  // of the first write that failed; nothing is written after it
	reports string // directory that has the result, too; "" for none
}

func (o *output) Write(p []byte) (int, error) {
	if o.err == nil {
		_, o.err = o.to.Write(p)
	}
	return len(p), nil
}

// Unwrap returns the stream below, for those who need to know whether it is a terminal.
func (o *output) Unwrap() io.Writer { return o.to }

// failure returns why the result was not written, nil if it was, or if its reader has left: a closed pipe, or a closed
// socket, which is what Node gives to its child processes.
func (o *output) failure() error {
	switch {
	case o.err == nil, errors.Is(o.err, syscall.EPIPE), errors.Is(o.err, syscall.ECONNRESET), errors.Is(o.err, io.ErrClosedPipe):
		return nil
	case o.reports != "":
		return fault.New(event.ExitInternal, "the result was not written to standard output: %w; the reports are in %s", o.err, o.reports)
	}
	return fault.New(event.ExitInternal, "the result was not written to standard output: %w", o.err)
}

// keepResult records the report directory for the case that the result can't be written.
func keepResult(w world.World, dir string) {
	if o, ok := w.Out.(*output); ok {
		o.reports = dir
	}
}
