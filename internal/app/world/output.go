package world

import (
	"errors"
	"io"
	"syscall"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
)

// Output is the standard output of a command. Its Write does not fail, so that a command ends as it would
// have otherwise; the fault that [Output.Failure] returns decides the exit code of every command.
type Output struct {
	To      io.Writer
	err     error  // of the first write that failed; nothing is written after it
	reports string // directory that has the result, too; "" for none
}

func (o *Output) Write(p []byte) (int, error) {
	if o.err == nil {
		_, o.err = o.To.Write(p)
	}
	return len(p), nil
}

// Unwrap returns the stream below, for those who need to know whether it is a terminal.
func (o *Output) Unwrap() io.Writer { return o.To }

// Failure returns why the result was not written, nil if it was, or if its reader has left: a closed pipe, or a closed
// socket, which is what Node gives to its child processes.
func (o *Output) Failure() error {
	switch {
	case o.err == nil, errors.Is(o.err, syscall.EPIPE), errors.Is(o.err, syscall.ECONNRESET), errors.Is(o.err, io.ErrClosedPipe):
		return nil
	case o.reports != "":
		return fault.New(event.ExitInternal, "the result was not written to standard output: %w; the reports are in %s", o.err, o.reports)
	}
	return fault.New(event.ExitInternal, "the result was not written to standard output: %w", o.err)
}

// KeepResult records the report directory for the case that the result can't be written.
func (w World) KeepResult(dir string) {
	if o, ok := w.Out.(*Output); ok {
		o.reports = dir
	}
}
