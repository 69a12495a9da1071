package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/text/redact"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/publish"
	"github.com/millhand/millhand/runner/requests"
	"github.com/millhand/millhand/runner/site"
)

// Requests are the changes of the forge that the agent of a job requests. Each gets one outcome.
type Requests struct {
	job      *site.Job
	redact   *redact.Redactor
	answered map[string]bool // those that have an outcome, by id
}

// NewRequests returns the requests of the agent of a job, whose texts are redacted.
func NewRequests(j *site.Job, known *redact.Redactor) *Requests {
	return &Requests{job: j, redact: known}
}

// of returns what the agent has requested in the final message, with what the task decides about it.
func (f *Requests) of(r *ending.Result) []event.ForgeRequest {
	j := f.job
	if j.Spec.Requests == nil || r == nil {
		return nil
	}
	return requests.Decide(*j.Spec.Requests, r.Requests, j.History.Requested(), f.redact.Text)
}

// Due reports whether the job may write to the forge what its agent requests.
func (f *Requests) Due(r *ending.Result) bool {
	return f.job.Spec.Requests.Made() && r != nil && len(r.Requests) > 0
}

// decided reports the outcome of a request.
func (f *Requests) decided(one event.ForgeRequest) {
	if f.answered == nil {
		f.answered = map[string]bool{}
	}
	f.answered[one.ID] = true
	if one.Outcome == event.RequestRefused || one.Outcome == event.RequestFailed {
		f.job.Warn(fmt.Sprintf("request %s: %s: %s", one.What(), one.Outcome, one.Reason))
	}
	f.job.Emit(event.Event{Type: event.ForgeRequestEnded, ForgeRequest: &one})
}

// Skip reports the requests of a job that has ended without making them.
func (f *Requests) Skip(r *ending.Result) {
	for _, one := range f.of(r) {
		if f.answered[one.ID] {
			continue
		}
		if one.Outcome == "" {
			one.Outcome, one.Reason = event.RequestSkipped, "the job did not pass"
		}
		f.decided(one)
	}
}

// Request makes the changes of the forge that the agent has requested.
func (d *Delivery) Request(ctx context.Context) *ending.Stop {
	j := d.Job
	all := d.Requests.of(d.Result)
	if len(all) == 0 {
		return nil
	}
	to := j.Start.Requests
	to.Job, to.Facts, to.Thread = j.Spec.ID, d.facts(), cmp.Or(to.Thread, forge.Thread{Number: d.pull.Number})
	err := to.All(ctx, all, func(one event.ForgeRequest) {
		j.Emit(event.Event{Type: event.ForgeRequestStarted, ForgeRequest: &one})
	}, d.Requests.decided)
	var failed *publish.Failure
	switch {
	case errors.As(err, &failed):
		return &ending.Stop{Code: failed.Code, Detail: failed.Detail}
	case err != nil:
		return ending.Of(ctx)
	}
	return nil
}
