package ending

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
		want  Stop
	}{
		"SIGINT":            {event.Interrupt{Signal: "SIGINT", Exit: event.ExitInterrupt}, Stop{Code: event.CodeInterrupted, Detail: "interrupted by SIGINT"}},
		"SIGHUP":            {event.Interrupt{Signal: "SIGHUP", Exit: event.ExitTerminate}, Stop{Code: event.CodeTerminated, Detail: "interrupted by SIGHUP"}},
		"the run's time":    {event.EndCause{Code: event.CodeRunTime, Reason: "run timed out"}, Stop{Code: event.CodeRunTime, Detail: "run timed out"}},
		"the job's time":    {event.EndCause{Code: event.CodeLimit, Reason: "job timed out"}, Stop{Code: event.CodeLimit, Detail: "job timed out"}},
		"a denied write":    {&permission.Error{Decision: permission.Decision{Request: denied, Rule: "no"}}, Stop{Code: event.CodeDenied, Detail: permission.Decision{Request: denied, Rule: "no"}.By()}},
		"any other":         {errors.New("gone"), Stop{Code: event.CodeInterrupted, Detail: "gone"}},
		"a wrapped timeout": {context.DeadlineExceeded, Stop{Code: event.CodeInterrupted, Detail: context.DeadlineExceeded.Error()}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		for call, got := range map[string]*Stop{"Of": Of(ctx), "OfSession": OfSession(ctx, session.End{})} {
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, call, diff)
			}
		}
	}
}

func TestTheStopOfASession(t *testing.T) {
	if got := OfSession(t.Context(), session.End{Code: event.CodeRate, Reason: "why"}); *got != (Stop{Code: event.CodeRate, Detail: "why"}) {
		t.Errorf("%+v", *got)
	}
	if got := OfSession(t.Context(), session.End{}); got != nil {
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
