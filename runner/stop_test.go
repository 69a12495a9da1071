package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/permission"
	"github.com/millhand/millhand/internal/session"
)

func TestTheStopOfAContextFollowsFromItsCause(t *testing.T) {
	denied := permission.Need("bash", "rm")
	for name, c := range map[string]struct {
		cause error
		want  stop
	}{
		"SIGINT":            {Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt}, stop{code: event.CodeInterrupted, detail: "interrupted by SIGINT"}},
		"SIGHUP":            {Interrupt{Signal: "SIGHUP", Exit: event.ExitTerminate}, stop{code: event.CodeTerminated, detail: "interrupted by SIGHUP"}},
		"the run's time":    {session.Timeout{Code: event.CodeRunTime, Reason: "run timed out"}, stop{code: event.CodeRunTime, detail: "run timed out"}},
		"the job's time":    {session.Timeout{Code: event.CodeLimit, Reason: "job timed out"}, stop{code: event.CodeLimit, detail: "job timed out"}},
		"a denied write":    {&permission.Error{Decision: permission.Decision{Request: denied, Rule: "no"}}, stop{code: event.CodeDenied, detail: permission.Decision{Request: denied, Rule: "no"}.By()}},
		"any other":         {errors.New("gone"), stop{code: event.CodeInterrupted, detail: "gone"}},
		"a wrapped timeout": {context.DeadlineExceeded, stop{code: event.CodeInterrupted, detail: context.DeadlineExceeded.Error()}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		for call, got := range map[string]*stop{"stopped": stopped(ctx), "stopOf": stopOf(ctx, session.End{})} {
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, call, diff)
			}
		}
	}
}

func TestTheStopOfASession(t *testing.T) {
	if got := stopOf(t.Context(), session.End{Code: event.CodeRate, Reason: "why"}); *got != (stop{code: event.CodeRate, detail: "why"}) {
		t.Errorf("%+v", *got)
	}
	if got := stopOf(t.Context(), session.End{}); got != nil {
		t.Errorf("a session that is done stops its job: %+v", got)
	}
}

// The class of a failed request determines the reason code, and the exit code, which
// tell whether a retry is useful.
func TestEveryClassOfFailedRequestsIsACause(t *testing.T) {
	for _, class := range []model.ErrorClass{
		model.ClassAuth, model.ClassUnknown, model.ClassRequest, model.ClassQuota, model.ClassContext, model.ClassRate, model.ClassUnavailable, model.ClassProtocol,
	} {
		cause := event.Code(class).Cause()
		later := (&model.Error{Class: class}).Retryable()
		if cause.Doc == "" || later != (cause.Exit == event.ExitUnavailable) {
			t.Errorf("%s: retryable %t, but %+v", class, later, cause)
		}
	}
}
