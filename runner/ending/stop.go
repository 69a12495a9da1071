package ending

import (
	"context"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/session"
)

// Stop is why a job ends before its last phase, or does not pass.
type Stop struct {
	Code   event.Code
	Detail string // the reason in words
}

// Outcome is that of the code.
func (s *Stop) Outcome() event.Outcome { return s.Code.Cause().Outcome }

// Of is the stop of a context that has ended.
func Of(ctx context.Context) *Stop {
	switch cause := context.Cause(ctx).(type) { //nolint:errorlint // a cause is given as it is, never wrapped
	case event.Interrupt:
		code := event.CodeInterrupted
		if cause.Exit == event.ExitTerminate {
			code = event.CodeTerminated
		}
		return &Stop{Code: code, Detail: cause.Error()}
	case *permission.Error:
		return &Stop{Code: event.CodeDenied, Detail: cause.Decision.By()}
	case event.EndCause:
		return &Stop{Code: cause.Code, Detail: cause.Reason}
	default:
		return &Stop{Code: event.CodeInterrupted, Detail: cause.Error()}
	}
}

// OfSession returns the stop of a job whose session ended; nil if the model completed
// the task.
func OfSession(ctx context.Context, end session.End) *Stop {
	if ctx.Err() != nil {
		return Of(ctx)
	}
	if end.Done() {
		return nil
	}
	return &Stop{Code: end.Code, Detail: end.Reason}
}

// Fault returns the stop for an error: of the machine if that lacks something, otherwise of code.
func Fault(code event.Code, err error) *Stop {
	if proc.IsMachine(err) {
		code = event.CodeMachine
	}
	return &Stop{Code: code, Detail: err.Error()}
}
