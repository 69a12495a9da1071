package runner

import (
	"cmp"
	"context"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session"
)

// stop is why a job ends before its last phase, or does not pass.
type stop struct {
	code   event.Code
	detail string // the reason in words
}

func (s *stop) outcome() event.Outcome { return s.code.Cause().Outcome }

// runDeadline is the cause of a context that the run's own time limit ended.
type runDeadline struct{ session.Timeout }

// stopped is the stop of a context that is over.
func stopped(ctx context.Context) *stop {
	switch cause := context.Cause(ctx).(type) { //nolint:errorlint // a cause is given as it is, never wrapped
	case Interrupt:
		code := event.CodeInterrupted
		if cause.Exit == event.ExitTerminate {
			code = event.CodeTerminated
		}
		return &stop{code: code, detail: cause.Error()}
	case runDeadline:
		return &stop{code: event.CodeRunTime, detail: cause.Reason}
	case *permission.Error:
		return &stop{code: event.CodeDenied, detail: cause.Decision.By()}
	case session.Timeout:
		return &stop{code: event.CodeLimit, detail: cause.Reason}
	default:
		return &stop{code: event.CodeInterrupted, detail: cause.Error()}
	}
}

// stopOf turns the end of a session into what it means for its job; nil if the
// model said that it is done.
func stopOf(ctx context.Context, end session.End) *stop {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	switch end.Kind {
	case session.Done:
		return nil
	case session.Limited:
		return &stop{code: cmp.Or(end.Code, event.CodeLimit), detail: end.Reason}
	case session.OverCost:
		return &stop{code: event.CodeOverBudget, detail: end.Reason}
	case session.Refused:
		return &stop{code: event.CodeDenied, detail: end.Reason}
	case session.NoModel:
		return &stop{code: cmp.Or(end.Code, event.CodeNoModel), detail: end.Reason}
	default:
		return &stop{code: event.CodeFailed, detail: end.Reason}
	}
}

// provider is the part of a model's name that says whose it is.
func provider(name string) string {
	before, _, _ := strings.Cut(name, "/")
	before, _, _ = strings.Cut(before, ":")
	return before
}
