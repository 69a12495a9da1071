package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc/clock"
)

// RetryPolicy limits the retries of a failed request. No field has a default: a zero
// policy never retries.
type RetryPolicy struct {
	Retries  int           // most attempts after the first
	Refusals time.Duration // total wait of retries beyond Retries after an overloaded provider's rejection
	Garbled  int           // most retries after a [ClassProtocol] failure
	First    time.Duration // maximum of the first wait; it doubles with every retry
	Longest  time.Duration // maximum of that growth
	Patience time.Duration // longest wait that a provider may request; beyond it the request fails
	Total    time.Duration // longest total wait of one request
	// Wait is how long a request is retried while its provider may be down (see [Gated]), from its
	// first failure, instead of Retries, Refusals and Total; 0 for no difference.
	Wait time.Duration
	// Pause is called around the waits of such retries. It may be nil.
	Pause func() (resume func())

	// Now returns the current time; required by Wait.
	Now func() time.Time
	// Sleep waits for d, or returns the context's cause when that ends first.
	Sleep func(ctx context.Context, d time.Duration) error
	// Rand returns a number in [0, 1), so that parallel jobs wait differently.
	Rand func() float64
}

// DefaultRetryPolicy is the policy for a real provider: four retries, waits of
// up to half a second that grow to 30 seconds, and a total wait of five minutes when
// the provider requests longer ones.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{
		Retries:  4,
		Refusals: 30 * time.Second,
		Garbled:  2,
		First:    500 * time.Millisecond,
		Longest:  30 * time.Second,
		Patience: 120 * time.Second,
		Total:    5 * time.Minute,
		Sleep:    clock.Wait,
		Rand:     rand.Float64,
	}
}

// Retrying returns m with retries after temporary failures (see [Error.Retryable]).
// The wait is exponential backoff with full jitter (a random fraction of a maximum
// that doubles, so that parallel jobs don't retry together). If the provider
// requested a wait, it is that and at most a quarter more. Waiting ends with the
// context. The last failure is returned when the policy allows no other retry.
//
// notify, if not nil, is called before every wait with the number of attempts so far
// and the error of the last one.
//
// The chunks of a failed attempt were passed to emit already, which then gets an
// [AgainDelta]: emit is for live output, and only the returned Response counts. What
// failed attempts used is in its Lost.
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
		wait, again := r.policy.again(&spent, resp, err)
		if !again {
			return Response{Lost: lost}, spent.describe(r.policy.explain(err))
		}
		if exceeded := req.Reservation.Retry(ctx); exceeded != nil {
			return Response{Lost: lost}, fmt.Errorf("%w (retry after: %v)", exceeded, err) //nolint:errorlint // callers branch on the budget, not on the failure
		}
		if cause := r.sleep(ctx, &spent, wait, err); cause != nil {
			return Response{Lost: lost}, fmt.Errorf("%w, while waiting to retry after: %v", cause, err) //nolint:errorlint // callers branch on the cause, not on the failure
		}
		restart(emit)
	}
}

// sleep waits before a retry, unless that waits at a gate.
func (r retrying) sleep(ctx context.Context, spent *retries, wait time.Duration, err error) error {
	if spent.gated {
		return nil
	}
	if ctx.Err() == nil { // else no retry follows
		r.notify(spent.made, wait, err)
	}
	if spent.down && r.policy.Pause != nil {
		defer r.policy.Pause()()
	}
	return r.policy.Sleep(ctx, wait)
}

// restart informs emit, which may be nil, that the response starts again.
func restart(emit func(Delta)) {
	if emit != nil {
		emit(Delta{Kind: AgainDelta})
	}
}

// retries counts the retries of one request for its policy.
type retries struct {
	made    int // failed attempts that were followed by another
	counted int // of these, the ones that the policy's Retries limit
	garbled int
	waited  time.Duration
	failed  time.Time // the first failure
	down    bool      // the provider may be down, since the last attempt
	gated   bool      // the next attempt waits at a gate
}

// describe adds the number of attempts to an error, if there were several.
func (s retries) describe(err error) error {
	if s.made == 0 {
		return err
	}
	return fmt.Errorf("%d attempts: %w", s.made+1, err)
}

// explain adds to an error that the provider requested a longer wait than the policy
// allows, if it did.
func (p RetryPolicy) explain(err error) error {
	var failed *Error
	if !errors.As(err, &failed) || !failed.Retryable() || failed.RetryAfter <= p.Patience {
		return err
	}
	return fmt.Errorf("%w; the provider requested a retry after %v, and the longest wait is %v", err, failed.RetryAfter.Round(time.Second), p.Patience)
}

// again reports whether to retry after err, and after which wait. It counts both.
func (p RetryPolicy) again(spent *retries, resp Response, err error) (time.Duration, bool) {
	var failed *Error
	if !errors.As(err, &failed) || !failed.Retryable() || failed.RetryAfter > p.Patience {
		return 0, false
	}
	wait := p.backoff(spent.made)
	if asked := failed.RetryAfter; asked > 0 {
		wait = asked + min(wait, asked/4)
	}
	var at verdict
	if v := (*verdict)(nil); errors.As(err, &v) {
		at = *v
	}
	if at.final || at.alone {
		return 0, false
	}
	spent.down, spent.gated = p.Wait > 0 && temporary(failed, resp) && !failed.Brief, at.closed
	if spent.down {
		wait = p.remaining(spent, wait)
	} else if !p.allows(*spent, failed, wait) {
		return 0, false
	}
	if wait < 0 {
		return 0, false
	}
	spent.made++
	if !spent.down {
		spent.counted++
		spent.waited += wait
	}
	if failed.Class == ClassProtocol {
		spent.garbled++
	}
	return wait, true
}

// remaining returns a wait within the time of an outage, negative after its end.
func (p RetryPolicy) remaining(spent *retries, wait time.Duration) time.Duration {
	now := p.Now()
	if spent.failed.IsZero() {
		spent.failed = now
	}
	left := spent.failed.Add(p.Wait).Sub(now)
	if left <= 0 {
		return -1
	}
	return min(wait, left)
}

// allows reports whether another retry is within the limits.
func (p RetryPolicy) allows(spent retries, failed *Error, wait time.Duration) bool {
	return (spent.counted < p.Retries || overloaded(failed) && spent.waited < p.Refusals) &&
		(failed.Class != ClassProtocol || spent.garbled < p.Garbled) &&
		spent.waited+wait <= p.Total
}

// backoff is a random fraction of the maximum wait before the retry with the given
// number, from 0.
func (p RetryPolicy) backoff(retry int) time.Duration {
	limit := p.First
	for range retry {
		if limit >= p.Longest/2 {
			limit = p.Longest
			break
		}
		limit *= 2
	}
	return time.Duration(p.Rand() * float64(min(limit, p.Longest)))
}
