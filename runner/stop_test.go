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
	"github.com/millhand/millhand/tasks"
)

func TestTheStopOfAContextFollowsFromItsCause(t *testing.T) {
	denied := permission.Need("bash", "rm")
	for name, c := range map[string]struct {
		cause error
		want  stop
	}{
		"SIGINT":            {Interrupt{"SIGINT", event.ExitInterrupt}, stop{event.CodeInterrupted, "interrupted by SIGINT"}},
		"SIGHUP":            {Interrupt{"SIGHUP", event.ExitTerminate}, stop{event.CodeTerminated, "interrupted by SIGHUP"}},
		"the run's time":    {Deadline(&tasks.Plan{}), stop{event.CodeRunTime, Deadline(&tasks.Plan{}).Error()}},
		"the job's time":    {session.Timeout{Reason: "job timed out"}, stop{event.CodeLimit, "job timed out"}},
		"a denied write":    {&permission.Error{Decision: permission.Decision{Request: denied, Rule: "no"}}, stop{event.CodeDenied, permission.Decision{Request: denied, Rule: "no"}.By()}},
		"any other":         {errors.New("gone"), stop{event.CodeInterrupted, "gone"}},
		"a wrapped timeout": {context.DeadlineExceeded, stop{event.CodeInterrupted, context.DeadlineExceeded.Error()}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		for call, got := range map[string]*stop{"stopped": stopped(ctx), "stopOf": stopOf(ctx, session.End{Kind: session.Done})} {
			if diff := cmp.Diff(&c.want, got, cmp.AllowUnexported(stop{})); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, call, diff)
			}
		}
	}
}

func TestTheStopOfASession(t *testing.T) {
	for _, c := range []struct {
		end  session.End
		want event.Code
	}{
		{session.End{Kind: session.Limited}, event.CodeLimit},
		{session.End{Kind: session.Limited, Code: event.CodeDoomLoop}, event.CodeDoomLoop},
		{session.End{Kind: session.OverCost}, event.CodeOverBudget},
		{session.End{Kind: session.Refused}, event.CodeDenied},
		{session.End{Kind: session.NoModel}, event.CodeNoModel},
		{session.End{Kind: session.NoModel, Code: event.CodeRate}, event.CodeRate},
		{session.End{Kind: session.GaveUp}, event.CodeFailed},
	} {
		c.end.Reason = "why"
		if got := stopOf(t.Context(), c.end); *got != (stop{c.want, "why"}) {
			t.Errorf("%+v: %+v, want %s", c.end, *got, c.want)
		}
	}
	if got := stopOf(t.Context(), session.End{Kind: session.Done}); got != nil {
		t.Errorf("a session that is done stops its job: %+v", got)
	}
}

// A class of failed requests is a reason code, and whether it is worth trying
// again later is its exit code.
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
