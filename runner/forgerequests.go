package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/requests"
)

// requested returns what the agent has requested in the final message, with what the task decides about it.
func (j *job) requested(r *ending.Result) []event.ForgeRequest {
	if j.Spec.Requests == nil || r == nil {
		return nil
	}
	return requests.Decide(*j.Spec.Requests, r.Requests, j.History.Requested(), j.opts.Redact.Text)
}

// makesRequests reports whether the job may write to the forge what its agent requests.
func makesRequests(j *job, r *ending.Result) bool {
	return j.Spec.Requests.Made() && r != nil && len(r.Requests) > 0
}

// requests makes the changes of the forge that the agent has requested.
func (d *delivery) requests(ctx context.Context) *ending.Stop {
	j := d.job
	all := j.requested(d.result)
	if len(all) == 0 {
		return nil
	}
	to := j.Start.Requests
	to.Job, to.Facts, to.Thread = j.Spec.ID, d.facts(), cmp.Or(to.Thread, forge.Thread{Number: d.pull.Number})
	err := to.All(ctx, all, func(one event.ForgeRequest) {
		j.Emit(event.Event{Type: event.ForgeRequestStarted, ForgeRequest: &one})
	}, j.decided)
	var failed *publish.Failure
	switch {
	case errors.As(err, &failed):
		return &ending.Stop{Code: failed.Code, Detail: failed.Detail}
	case err != nil:
		return ending.Of(ctx)
	}
	return nil
}

// decided reports the outcome of a request.
func (j *job) decided(one event.ForgeRequest) {
	if j.answered == nil {
		j.answered = map[string]bool{}
	}
	j.answered[one.ID] = true
	if one.Outcome == event.RequestRefused || one.Outcome == event.RequestFailed {
		j.Warn(fmt.Sprintf("request %s: %s: %s", one.What(), one.Outcome, one.Reason))
	}
	j.Emit(event.Event{Type: event.ForgeRequestEnded, ForgeRequest: &one})
}

// skipRequests reports the requests of a job that has ended without making them.
func (j *job) skipRequests(r *ending.Result) {
	for _, one := range j.requested(r) {
		if j.answered[one.ID] {
			continue
		}
		if one.Outcome == "" {
			one.Outcome, one.Reason = event.RequestSkipped, "the job did not pass"
		}
		j.decided(one)
	}
}
