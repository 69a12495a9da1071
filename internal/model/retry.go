package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// RetryPolicy bounds how a failed request is tried again. Every field counts as
// it stands: a zero policy never retries.
type RetryPolicy struct {
	Retries  int           // most attempts after the first
	Refusals time.Duration // so long in all a request is retried that the provider has no room for, beyond Retries
	Garbled  int           // most of these that may follow a [ClassProtocol] failure
	First    time.Duration // ceiling of the first wait; it doubles with every retry
	Longest  time.Duration // ceiling of that growth
	Patience time.Duration // longest wait that a provider may ask for; beyond it the failure stands
	Total    time.Duration // most time spent on waiting, all waits of one request together

	// Sleep waits for d, or returns the context's cause when that ends first.
	Sleep func(ctx context.Context, d time.Duration) error
	// Rand returns a number in [0, 1) that spreads the waits of parallel jobs.
	Rand func() float64
}

// DefaultRetryPolicy is the policy for a real provider: four retries, waits of
// up to half a second that grow to 30 seconds, and five minutes of waiting in
// all when the provider asks for more.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{
		Retries:  4,
		Refusals: 30 * time.Second,
		Garbled:  2,
		First:    500 * time.Millisecond,
		Longest:  30 * time.Second,
		Patience: 120 * time.Second,
		Total:    5 * time.Minute,
		Sleep:    sleep,
		Rand:     rand.Float64,
	}
}

// Retrying returns m with requests tried again after failures that may pass
// (see [Error.Retryable]). The wait is exponential backoff with full jitter (a
// random share of a ceiling that doubles, so that parallel jobs do not return
// together). Where the provider asked for a wait, it is that and a quarter more
// at most. Waiting ends with the context. The last failure is returned when the
// policy is used up.
//
// notify, if not nil, is called before every wait with the number of attempts
// made so far and the failure of the last one.
//
// The pieces of a failed attempt have gone to emit already and can't be taken
// back: emit is for showing an answer live, and only the returned Response is
// the answer. What they used up is in its Lost.
func Retrying(m Model, p RetryPolicy, notify func(attempt int, wait time.Duration, err error)) Model {
	if notify == nil {
		notify = func(int, time.Duration, error) {}
	}
	return retrying{m, p, notify}
}

type retrying struct {
	next   Model
	policy RetryPolicy
	notify func(int, time.Duration, error)
}

func (r retrying) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	var spent retries
	var lost *money.Charge
	for {
		resp, err := r.next.Stream(ctx, req, emit)
		lost = lost.Plus(resp.Lost)
		resp.Lost = lost
		if err == nil {
			return resp, nil
		}
		wait, again := r.policy.again(&spent, err)
		if !again {
			return Response{Lost: lost}, spent.describe(r.policy.explain(err))
		}
		if exceeded := req.Reservation.Retry(); exceeded != nil {
			return Response{Lost: lost}, fmt.Errorf("%w, after: %v", exceeded, err) //nolint:errorlint // the failure is told, the lack of money decides
		}
		if ctx.Err() == nil { // else there is no retry to tell of
			r.notify(spent.made, wait, err)
		}
		if cause := r.policy.Sleep(ctx, wait); cause != nil {
			return Response{Lost: lost}, fmt.Errorf("%w, while waiting after: %v", cause, err) //nolint:errorlint // the failure is told, the cause decides
		}
	}
}

// retries is what one request has used up of its policy.
type retries struct {
	made    int // failed attempts that were followed by another
	garbled int
	waited  time.Duration
}

// describe says how often a request was tried, if more than once.
func (s retries) describe(err error) error {
	if s.made == 0 {
		return err
	}
	return fmt.Errorf("%d attempts: %w", s.made+1, err)
}

// explain says that the provider asked for a longer wait than the policy allows,
// if it did.
func (p RetryPolicy) explain(err error) error {
	var failed *Error
	if !errors.As(err, &failed) || !failed.Retryable() || failed.RetryAfter <= p.Patience {
		return err
	}
	return fmt.Errorf("%w; the provider asks to retry after %v, and the longest wait allowed is %v", err, failed.RetryAfter.Round(time.Second), p.Patience)
}

// again says whether to try once more after err and how long to wait first. It
// books both.
func (p RetryPolicy) again(spent *retries, err error) (time.Duration, bool) {
	var failed *Error
	if !errors.As(err, &failed) || !failed.Retryable() {
		return 0, false
	}
	wait := p.backoff(spent.made)
	if asked := failed.RetryAfter; asked > 0 {
		wait = asked + min(wait, asked/4)
	}
	garbled := failed.Class == ClassProtocol
	switch {
	case spent.made >= p.Retries && (!overloaded(failed) || spent.waited >= p.Refusals),
		garbled && spent.garbled >= p.Garbled,
		failed.RetryAfter > p.Patience,
		spent.waited+wait > p.Total:
		return 0, false
	}
	spent.made++
	spent.waited += wait
	if garbled {
		spent.garbled++
	}
	return wait, true
}

// backoff is a random share of the ceiling for the retry with the given number,
// from 0.
func (p RetryPolicy) backoff(retry int) time.Duration {
	ceiling := p.First
	for range retry {
		if ceiling >= p.Longest/2 {
			ceiling = p.Longest
			break
		}
		ceiling *= 2
	}
	return time.Duration(p.Rand() * float64(min(ceiling, p.Longest)))
}

func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil { // a short wait would hide it
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
