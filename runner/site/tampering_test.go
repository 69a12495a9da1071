package site

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/runner/ending"
)

// What the machine refuses ends a job when no further attempt is made, whatever program it was to start.
func TestRefusalsOfTheMachineEndTheJob(t *testing.T) {
	for _, test := range []struct {
		err  error
		want event.Code
	}{
		{fmt.Errorf("start: %w", &proc.MachineError{Err: syscall.EAGAIN}), event.CodeMachine},
		{&proc.MachineError{Err: syscall.ENOSPC}, event.CodeMachine},
		{syscall.EAGAIN, ""}, // is tried again
		{errors.New("no sandbox"), event.CodeEnvironment},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		(&Job{End: end}).fail(test.err)
		got, _ := context.Cause(ctx).(event.EndCause) //nolint:errorlint // a cause is never wrapped
		if got.Code != test.want {
			t.Errorf("%v: %q", test.err, got.Code)
		}
		end(nil)
	}
}

func TestTamperingTakesPrecedence(t *testing.T) {
	j := &Job{}
	ended := 0
	j.End = func(error) { ended++ }
	other := &ending.Stop{Code: event.CodeFailed, Detail: "other"}
	if got := j.CheckGuard(other); got != other || j.CheckGuard(nil) != nil {
		t.Errorf("%+v without tampering", got)
	}
	first := &permission.Error{Decision: permission.Decision{Request: permission.Need(permission.Git, ".git/config"), Why: "a command changed it"}}
	j.fail(first)
	j.fail(&permission.Error{Decision: permission.Decision{Why: "later"}})
	if got := j.CheckGuard(other); got.Code != event.CodeDenied || ended != 2 || got.Detail != first.Decision.By() {
		t.Errorf("%+v; ended %d times", got, ended)
	}
}
