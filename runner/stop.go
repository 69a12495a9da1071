package runner

import (
	"context"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/session"
)

// stop is why a job ends before its last phase, or does not pass.
type stop struct {
	code   event.Code
	detail string // the reason in words
}

func (s *stop) outcome() event.Outcome { return s.code.Cause().Outcome }

// stopped is the stop of a context that is over.
func stopped(ctx context.Context) *stop {
	switch cause := context.Cause(ctx).(type) { //nolint:errorlint // a cause is given as it is, never wrapped
	case Interrupt:
		code := event.CodeInterrupted
		if cause.Exit == event.ExitTerminate {
			code = event.CodeTerminated
		}
		return &stop{code: code, detail: cause.Error()}
	case *permission.Error:
		return &stop{code: event.CodeDenied, detail: cause.Decision.By()}
	case session.Timeout:
		return &stop{code: cause.Code, detail: cause.Reason}
	default:
		return &stop{code: event.CodeInterrupted, detail: cause.Error()}
	}
}

// stopOf returns the stop of a job whose session ended; nil if the model completed
// the task.
func stopOf(ctx context.Context, end session.End) *stop {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	if end.Done() {
		return nil
	}
	return &stop{code: end.Code, detail: end.Reason}
}

// fault returns the stop for an error: of the machine if that lacks something, otherwise of code.
func fault(code event.Code, err error) *stop {
	if proc.IsMachine(err) {
		code = event.CodeMachine
	}
	return &stop{code: code, detail: err.Error()}
}

// Interrupt is the cause of a run's context that was cancelled by a signal.
type Interrupt struct {
	Signal string // its name, for example SIGINT
	Exit   event.Exit
}

// Error names the signal.
func (i Interrupt) Error() string { return "interrupted by " + i.Signal }
