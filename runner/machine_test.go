package runner

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/session"
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
		(&siteJob{end: end}).fail(test.err)
		got, _ := context.Cause(ctx).(session.Timeout) //nolint:errorlint // a cause is never wrapped
		if got.Code != test.want {
			t.Errorf("%v: %q", test.err, got.Code)
		}
		end(nil)
	}
}
