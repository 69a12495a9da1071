package ending

import (
	"context"
	"errors"
	"testing"

	"github.com/millhand/millhand/internal/event"
)

func TestNoStepRunsAfterAStop(t *testing.T) {
	ran := 0
	step := func(end *Stop) func(context.Context) *Stop {
		return func(context.Context) *Stop {
			ran++
			return end
		}
	}
	want := &Stop{Code: event.CodeFailed}
	if end := First(t.Context(), step(nil), step(want), step(nil)); end != want || ran != 2 {
		t.Errorf("got %v after %d steps", end, ran)
	}
	if end := First(t.Context(), step(nil)); end != nil {
		t.Errorf("got %v", end)
	}
}

// A context that has ended is the reason, not the error that follows from it.
func TestAGitErrorAfterASignalIsTheSignal(t *testing.T) {
	end := OfGit(t.Context(), "commit", errors.New("no space"))
	if end.Code != event.CodeCommit || Reason(end) != "commit: no space" {
		t.Errorf("got %+v", end)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt})
	if end := OfGit(ctx, "commit", errors.New("no space")); end.Code != event.CodeInterrupted {
		t.Errorf("got %+v", end)
	}
	if Reason(nil) != "" {
		t.Error("a reason without a stop")
	}
}
