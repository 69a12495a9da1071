package fault

import (
	"errors"

	"github.com/millhand/millhand/internal/event"
)

// ExitOf returns the exit code for an error of a command, which may be the cause of a context that has ended.
func ExitOf(err error) event.Exit {
	var f Error
	var interrupt event.Interrupt
	var timeout event.EndCause
	var noKey *KeyError
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
