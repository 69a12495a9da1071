package runner

import (
	"context"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session"
)

// stop is why a job ends before its last phase, or does not pass.
type stop struct {
	outcome event.Outcome
	reason  string
	exit    event.Exit
	code    event.Code // "" where the outcome says it all
}

// runDeadline is the cause of a context that the run's own time limit ended.
type runDeadline struct{ session.Timeout }

// stopped is the stop of a context that is over.
func stopped(ctx context.Context) *stop {
	switch cause := context.Cause(ctx).(type) { //nolint:errorlint // a cause is given as it is, never wrapped
	case Interrupt:
		return &stop{outcome: event.Cancelled, reason: cause.Error(), exit: cause.Exit}
	case runDeadline:
		return &stop{outcome: event.Limit, reason: cause.Reason, exit: event.ExitDeadline}
	case *permission.Error:
		return &stop{outcome: event.Policy, reason: cause.Decision.By(), exit: event.ExitPolicy}
	case session.Timeout:
		return &stop{outcome: event.Limit, reason: cause.Reason, exit: event.ExitLimit}
	default:
		return &stop{outcome: event.Cancelled, reason: cause.Error(), exit: event.ExitInterrupt}
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
		return &stop{outcome: event.Limit, reason: end.Reason, exit: event.ExitLimit, code: end.Code}
	case session.OverCost:
		return &stop{outcome: event.Budget, reason: end.Reason, exit: event.ExitBudget}
	case session.Refused:
		return &stop{outcome: event.Policy, reason: end.Reason, exit: event.ExitPolicy}
	case session.NoModel:
		return &stop{outcome: event.Provider, reason: end.Reason, exit: providerExit(end.Code), code: end.Code}
	default:
		return &stop{outcome: event.Failed, reason: end.Reason, exit: event.ExitFailed}
	}
}

// providerExit tells a provider that may answer later from one that won't.
func providerExit(code event.Code) event.Exit {
	if (&model.Error{Class: model.ErrorClass(code)}).Retryable() {
		return event.ExitUnavailable
	}
	return event.ExitAuth
}

// provider is the part of a model's name that says whose it is.
func provider(name string) string {
	before, _, _ := strings.Cut(name, "/")
	before, _, _ = strings.Cut(before, ":")
	return before
}
