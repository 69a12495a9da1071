package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/proc"
	"github.com/millhand/millhand/internal/sandbox"
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/tasks"
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
		(&job{end: end}).fail(test.err)
		got, _ := context.Cause(ctx).(session.Timeout) //nolint:errorlint // a cause is never wrapped
		if got.Code != test.want {
			t.Errorf("%v: %q", test.err, got.Code)
		}
		end(nil)
	}
}

// A server, language server, hook or the host of tool files that can't be started for lack of open
// files reports that, unless the job may continue without it.
func TestRefusedStartsAreReported(t *testing.T) {
	for _, optional := range []bool{false, true} {
		var reported []error
		g := CommandEnv{Level: sandbox.Outside, Workspace: t.TempDir(), Getenv: os.Getenv, Fail: func(err error) { reported = append(reported, err) }}
		g.Fail = g.spared(optional)
		start, end, err := Launch(t.Context(), g, tasks.Process{Command: []string{"cat"}}, t.TempDir(), "x")
		if err != nil {
			t.Fatal(err)
		}
		err = withoutFiles(t, func() error {
			_, err := start(t.Context())
			return err
		})
		if !proc.IsMachine(err) || !strings.Contains(err.Error(), "raise the limit on open files") {
			t.Errorf("optional %v: %v", optional, err)
		}
		if optional != (len(reported) == 0) || !optional && !errors.Is(reported[0], err) {
			t.Errorf("optional %v: reported %v", optional, reported)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}

// withoutFiles calls a function while the process can open no more files.
func withoutFiles(t *testing.T, call func() error) error {
	t.Helper()
	var limit unix.Rlimit
	next, err := os.Open(os.DevNull)
	if err := errors.Join(err, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: uint64(next.Fd()), Max: limit.Max}
	next.Close()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	failed := call()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return failed
}
