package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// LimitPolicy bounds how a [Limiter] holds requests back.
type LimitPolicy struct {
	Requests float64       // per minute: the lowest rate
	Doubling time.Duration // in which a rate doubles after a refusal
	Probing  time.Duration // in which it doubles once it is what the provider was seen to accept
	Widest   time.Duration // longest gap after one request, and longest pause that no provider asked for
	Patience time.Duration // longest pause that a provider may ask for; beyond it requests fail at once
	Total    time.Duration // longest time that one request is held back
	Faults   int           // so many in a row, over all requests, for Outage, and the provider is down
	Outage   time.Duration // what retries are to bridge
	Probe    time.Duration // how often a provider that is down is asked whether it is back

	// Now tells the time.
	Now func() time.Time
	// Sleep waits for d, or returns the context's cause when that ends first.
	Sleep func(ctx context.Context, d time.Duration) error
}

// DefaultLimitPolicy is the policy for a real provider: rates that double every
// second up to what the provider was seen to accept, and every half minute above
// that, a pause of at most two minutes, as [DefaultRetryPolicy] grants it, no
// request held back for longer than ten minutes, and four requests a minute to a
// provider that failed ten in a row, for a minute or more.
func DefaultLimitPolicy(now func() time.Time) LimitPolicy {
	return LimitPolicy{
		Requests: 120,
		Doubling: time.Second,
		Probing:  30 * time.Second,
		Widest:   10 * time.Second,
		Patience: 120 * time.Second,
		Total:    10 * time.Minute,
		Faults:   10,
		Outage:   time.Minute,
		Probe:    15 * time.Second,
		Now:      now,
		Sleep:    sleep,
	}
}

// Limiter spreads the requests of everybody who shares a provider's key, within
// limits that nobody has told it. It is safe for concurrent use.
//
// While the provider accepts everything, nothing is held back. A single refusal
// because there are too many requests delays that request alone, for as long as
// the provider asks (Retry-After): so does each after which others are accepted.
// When the next is refused as well, all requests pause for that time. What follows
// starts at the rate that was refused, and doubles within seconds. A refusal after
// that shows what the provider accepts: what it accepted in between. Above that
// rate the growth is slow, so that a real limit refuses few requests. Requests that
// were in flight at a refusal show nothing new. A minute without a refusal forgets
// the rate. Where tokens were too many, fewer requests are fewer tokens, too.
//
// A key that the provider refuses, or whose money is gone, is not sent again:
// every other request fails at once with what the first one was told.
//
// A provider that fails many requests in a row is down for all: but for one now
// and then, requests fail at once, so that many jobs don't each wait for it.
//
// Requests are sent in the order in which they came: each has a position in the
// sequence of all requests, and waits until the rate has reached it. There is no
// queue to keep and nobody to wake.
type Limiter struct {
	policy LimitPolicy

	mu      sync.Mutex
	rate    rate
	recent  []time.Time // when the requests of the last minute were sent
	cut     time.Time   // the last decrease
	streak  int         // decreases with nothing accepted in between, after the first
	denied  time.Time   // the last refusal
	answers int         // since then
	paused  time.Time   // nothing is sent before
	refused error       // why the key is of no use any more, or nil
	faults  int         // in a row
	since   time.Time   // the first of them
	probe   time.Time   // when a provider that is down is asked next
}

// NewLimiter makes a Limiter for one key of one provider.
func NewLimiter(p LimitPolicy) *Limiter {
	return &Limiter{policy: p, rate: rate{least: p.Requests}}
}

// Limited returns m with its requests held back by l, which others share. It
// belongs beneath [Retrying], so that every attempt counts.
//
// A request that would be held back for longer than the policy allows fails with
// [ClassRate] and the time that was missing as its RetryAfter.
//
// notify, if not nil, is called before a request is held back, again if a pause
// comes in between.
func Limited(m Model, l *Limiter, notify func(wait time.Duration)) Model {
	if notify == nil {
		notify = func(time.Duration) {}
	}
	return limited{m, l, notify}
}

type limited struct {
	next    Model
	limiter *Limiter
	notify  func(time.Duration)
}

func (m limited) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	began, err := m.limiter.enter(ctx, m.notify)
	if err != nil {
		return Response{}, err
	}
	resp, err := m.next.Stream(ctx, req, emit)
	if err != nil {
		return resp, m.limiter.failed(began, err)
	}
	m.limiter.answered()
	return resp, nil
}

// enter waits for a request's turn and returns when it began.
func (l *Limiter) enter(ctx context.Context, notify func(time.Duration)) (time.Time, error) {
	came := l.policy.Now()
	at, err := l.book(came)
	if err != nil {
		return time.Time{}, err
	}
	for {
		now := l.policy.Now()
		wait, err := l.wait(at, came, now)
		if err != nil {
			return time.Time{}, err
		}
		if wait <= 0 {
			l.depart(now)
			return now, nil
		}
		notify(wait)
		if err := l.policy.Sleep(ctx, wait); err != nil {
			return time.Time{}, fmt.Errorf("%w, while waiting for the rate limit", err)
		}
	}
}

// book gives a request its position in the sequence, unless it would have to wait
// there for too long.
func (l *Limiter) book(now time.Time) (at float64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(now); err != nil {
		return 0, err
	}
	l.advance(now)
	at = l.rate.booked
	if err := l.patient(l.left(at, now), now, now); err != nil {
		return at, err
	}
	l.rate.book(l.policy)
	return at, nil
}

// advance lets the rate accept what the time since the last call allows.
func (l *Limiter) advance(now time.Time) {
	if now.Sub(latest(l.cut, l.paused)) > memory {
		l.rate.forget()
	}
	l.rate.advance(now, l.policy)
}

// left is how long a request at a position has to wait.
func (l *Limiter) left(at float64, now time.Time) time.Duration {
	return latest(now, l.paused).Sub(now) + l.rate.reach(at, l.policy)
}

// open fails where no request can succeed: with a key that is refused, or while
// the provider is down.
func (l *Limiter) open(now time.Time) error {
	left := l.probe.Sub(now)
	switch {
	case l.refused != nil:
		return l.refused
	case l.policy.Faults == 0 || l.faults < l.policy.Faults || now.Sub(l.since) < l.policy.Outage:
		return nil
	case left > 0: // a wait beyond all patience: to try again would keep a job waiting for nothing
		return &Error{Class: ClassUnavailable, RetryAfter: l.policy.Patience + left, Err: fmt.Errorf("the provider failed the last %d requests of this run, for %v", l.faults, now.Sub(l.since).Round(time.Second))}
	}
	l.probe = now.Add(l.policy.Probe)
	return nil
}

// wait is the time that is left before a position, or why it is too long.
func (l *Limiter) wait(at float64, came, now time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused != nil {
		return 0, l.refused
	}
	l.advance(now)
	left := l.left(at, now)
	return left, l.patient(left, came, now)
}

// patient fails when the policy does not grant a wait to a request of came.
func (l *Limiter) patient(wait time.Duration, came, now time.Time) error {
	if wait > 0 && (l.paused.Sub(now) > l.policy.Patience || now.Add(wait).Sub(came) > l.policy.Total) {
		return tooLong(wait)
	}
	return nil
}

func tooLong(wait time.Duration) error {
	return &Error{Class: ClassRate, RetryAfter: wait, Err: fmt.Errorf("the provider takes no more requests of this key for now: the next one could be sent in %v", wait.Round(time.Second))}
}

// depart notes that a request is sent.
func (l *Limiter) depart(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := 0
	for old < len(l.recent) && now.Sub(l.recent[old]) > memory {
		old++
	}
	l.recent = append(l.recent[old:], now)
}

// answered notes that the provider accepted a request.
func (l *Limiter) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = 0
	l.answers++
}

// failed slows down when a provider was asked for too much, and stops when it
// accepts nothing of this key. It returns err, which for a refusal asks for the
// pause of all requests.
func (l *Limiter) failed(began time.Time, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if useless(e) && l.refused == nil {
		l.refused = fmt.Errorf("not asked again, after an earlier request of the run was refused: %w", err)
	}
	now := l.policy.Now()
	if e.Class == ClassUnavailable {
		if l.faults++; l.faults == 1 {
			l.since = now
		}
		l.probe = now.Add(l.policy.Probe)
	}
	if !overloaded(e) {
		return err
	}
	alone := l.alone(now, e.RetryAfter)
	l.denied, l.answers = now, 0
	if alone {
		return err
	}
	l.advance(now)
	if began.After(l.cut) {
		l.lower(began, now)
	}
	l.pause(now.Add(l.pauseFor(e.RetryAfter)))
	refusal := *e
	refusal.RetryAfter = l.paused.Sub(now)
	return &refusal
}

// useless reports whether a failure is that of the key, whatever is asked: other
// refusals may be those of one model.
func useless(e *Error) bool {
	return e.Status == http.StatusUnauthorized || e.Class == ClassQuota
}

// overloaded reports whether a provider says that it is asked too often: 429,
// 529, or any other passing failure with a wish to be left alone.
func overloaded(e *Error) bool {
	const siteOverloaded = 529
	return e.Class == ClassRate || e.Status == http.StatusTooManyRequests || e.Status == siteOverloaded || e.Retryable() && e.RetryAfter > 0
}

// alone reports whether a refusal says nothing of other requests: no limit has
// been seen, and it is the first for a while, or many were answered since the one
// before. Then only the refused request waits.
func (l *Limiter) alone(now time.Time, asked time.Duration) bool {
	return asked <= l.policy.Patience && l.rate.limit == 0 && (now.Sub(l.denied) > memory || l.answers >= plenty)
}

// pauseFor is how long to pause after a refusal: as long as the provider asked,
// and longer after each refusal in a row if it asked for little or nothing.
func (l *Limiter) pauseFor(asked time.Duration) time.Duration {
	longest := longestPause
	if asked >= 0 {
		longest = longestAsked
	}
	return max(asked, min(shortestPause<<l.streak, longest))
}

// pause holds everything back until a time.
func (l *Limiter) pause(until time.Time) {
	l.paused = latest(l.paused, until)
	l.rate.at = l.paused
}

// lower cuts the rate after the refusal of a request that was sent at began, by
// what was accepted in the time really observed.
func (l *Limiter) lower(began, now time.Time) {
	n, since := l.accepted(began)
	if n >= plenty {
		since = latest(since, l.paused)
	}
	if l.streak++; n > 0 || l.rate.limit == 0 {
		l.streak = 0
	}
	l.rate.lower(n, n/max(now.Sub(since), time.Millisecond).Minutes())
	l.recent, l.cut = nil, now
}

// accepted counts the requests since the last cut that were sent before the
// refused one: those after it are undecided. Without a cut, all but the refused
// one count.
func (l *Limiter) accepted(began time.Time) (n float64, since time.Time) {
	known, since := l.rate.limit > 0, l.cut
	if !known && len(l.recent) > 0 {
		since = l.recent[0]
	}
	for _, at := range l.recent {
		if !known || at.Before(began) {
			n++
		}
	}
	if !known {
		n = max(n-1, 0)
	}
	return n, since
}

func latest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.After(first) {
			first = t
		}
	}
	return first
}
