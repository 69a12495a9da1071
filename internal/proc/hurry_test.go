package proc

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestHurryKillsImmediately(t *testing.T) {
	stop := errors.New("stop")
	hurry := make(chan struct{})
	ctx, cancel := context.WithCancelCause(WithHurry(t.Context(), hurry))
	var out notifier = func(text string) {
		switch text { // one write of the command each
		case "started\n":
			cancel(stop)
		case "asked\n":
			close(hurry)
		}
	}
	// It reports SIGTERM and ignores it, so that only SIGKILL ends it.
	_, err := Run(ctx, Command{
		Args: []string{"/bin/bash", "-c", "trap 'echo asked' TERM; echo started; while :; do read -t 0.1 <> <(:); done"},
		Dir:  t.TempDir(), Output: out, Grace: time.Hour,
	})
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want %v", err, stop)
	}
}

// notifier is called with each text that a command writes.
type notifier func(text string)

func (n notifier) Write(p []byte) (int, error) {
	n(string(p))
	return len(p), nil
}
