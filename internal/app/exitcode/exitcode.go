// Package exitcode knows the exit code of every error of a use case, and of a signal that ended it. It neither
// prints errors nor exits.
package exitcode

import (
	"errors"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/event"
)

// Of returns the exit code for an error of a command.
func Of(err error) event.Exit {
	var f fault.Error
	var interrupt event.Interrupt
	var timeout event.EndCause
	var noKey *fault.KeyError
	switch {
	case err == nil:
		return event.ExitOK
	case errors.As(err, &interrupt): // even if it is wrapped in another error
		return interrupt.Exit
	case errors.As(err, &timeout) && timeout.Code == event.CodeRunTime: // likewise
		return event.ExitDeadline
	case errors.As(err, &f):
		return f.Kind
	case errors.As(err, &noKey):
		return event.ExitAuth
	}
	return event.ExitUsage
}
