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
	Requests float64       // per minute: what the rate grows by in a minute, and its least
	Tokens   float64       // per minute: what the rate grows by in a minute, and its least
	Widest   time.Duration // longest gap after one request
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

// DefaultLimitPolicy is the policy for a real provider: rates that grow by six
// requests and 20,000 tokens a minute, a pause of at most two minutes, as
// [DefaultRetryPolicy] grants it, no request held back for longer than ten
// minutes, and four requests a minute to a provider that failed ten in a row, for
// a minute or more.
func DefaultLimitPolicy(now func() time.Time) LimitPolicy {
	return LimitPolicy{
		Requests: 6,
		Tokens:   20_000,
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
// While the provider takes everything, nothing is held back. When it refuses a
// request because there are too many, half of the requests and tokens per minute
// that led there become the rate (multiplicative decrease), and with every
// answer the rate grows a little (additive increase), after Chiu and Jain,
// "Analysis of the increase and decrease algorithms for congestion avoidance"
// (1989). Requests that were under way at a decrease tell nothing new, and lead
// to no other. Which of the two rates was too high is unknown, so both are cut;
// the one that was not comes back unnoticed.
//
// A key that the provider refuses, or whose money is gone, is not sent again:
// every other request fails at once with what the first one was told.
//
// A provider that fails many requests in a row is down for all: but for one now
// and then, requests fail at once, so that many jobs don't each wait for it.
//
// A wish to be left alone (Retry-After) holds for all requests that are not sent
// yet. Requests are sent in the order in which they came: each is given a place
// on a time line, and a pause shifts the whole of it, so there is no queue to
// keep and nobody to wake.
type Limiter struct {
	policy LimitPolicy

	mu       sync.Mutex
	requests rate
	tokens   rate
	recent   []sent        // of the last minute, while no rate is known
	cut      time.Time     // the last decrease
	paused   time.Time     // nothing is sent before
	shift    time.Duration // all pauses together: from the time line to the clock
	refused  error         // why the key is of no use any more, or nil
	faults   int           // in a row
	since    time.Time     // the first of them
	probe    time.Time     // when a provider that is down is asked next
}

// NewLimiter makes a Limiter for one key of one provider.
func NewLimiter(p LimitPolicy) *Limiter {
	return &Limiter{policy: p, requests: rate{step: p.Requests}, tokens: rate{step: p.Tokens}}
}

// rate is how many of something may be sent in a minute.
type rate struct {
	step  float64
	limit float64   // 0 while it is unknown
	next  time.Time // on the time line: free for the next request
}

// gap is what n of it take on the time line.
func (r *rate) gap(n float64, widest time.Duration) time.Duration {
	if r.limit == 0 {
		return 0
	}
	return time.Duration(min(n/r.limit*float64(time.Minute), float64(widest)))
}

// lower is the multiplicative decrease. seen is what the last minute took.
func (r *rate) lower(seen float64) {
	if r.limit != 0 {
		seen = r.limit
	}
	r.limit = max(seen/2, r.step)
}

// raise is the additive increase after an answer that took n: about a step in a
// minute of full use, less while the rate is not used.
func (r *rate) raise(n float64) {
	if r.limit != 0 {
		r.limit += r.step * min(n/r.limit, 1)
	}
}

// sent is a request of the last minute.
type sent struct {
	at     time.Time
	tokens float64
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
	guess := guessTokens(req)
	began, err := m.limiter.enter(ctx, guess, m.notify)
	if err != nil {
		return Response{}, err
	}
	resp, err := m.next.Stream(ctx, req, emit)
	if err != nil {
		m.limiter.failed(began, err)
		return resp, err
	}
	used := guess
	if resp.Usage != nil {
		used = float64(resp.Usage.Input + resp.Usage.Output)
	}
	m.limiter.answered(began, guess, used)
	return resp, nil
}

// guessTokens says about how many tokens a request takes: one for four bytes.
// The answer tells the true number.
func guessTokens(req Request) float64 {
	n := len(req.System)
	for _, m := range req.Messages {
		n += len(m.Text) + len(m.Reasoning)
		for _, c := range m.Calls {
			n += len(c.Input)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Description)
	}
	return float64(n) / 4
}

// enter waits for a request's turn and returns when it began.
func (l *Limiter) enter(ctx context.Context, tokens float64, notify func(time.Duration)) (time.Time, error) {
	came := l.policy.Now()
	slot, err := l.book(came, tokens)
	if err != nil {
		return time.Time{}, err
	}
	for {
		now := l.policy.Now()
		wait, err := l.wait(slot, came, now)
		if err != nil {
			return time.Time{}, err
		}
		if wait <= 0 {
			l.depart(now, tokens)
			return now, nil
		}
		notify(wait)
		if err := l.policy.Sleep(ctx, wait); err != nil {
			return time.Time{}, fmt.Errorf("%w, while waiting for the rate limit", err)
		}
	}
}

// book gives a request its place on the time line, unless it would have to wait
// for too long there.
func (l *Limiter) book(now time.Time, tokens float64) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(now); err != nil {
		return time.Time{}, err
	}
	slot := latest(latest(now, l.paused).Add(-l.shift), l.requests.next, l.tokens.next)
	if err := l.patient(slot.Add(l.shift).Sub(now), now, now); err != nil {
		return slot, err
	}
	l.requests.next = slot.Add(l.requests.gap(1, l.policy.Widest))
	l.tokens.next = slot.Add(l.tokens.gap(tokens, l.policy.Widest))
	return slot, nil
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

// wait is the time that is left before a place, or why it is too long.
func (l *Limiter) wait(slot, came, now time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused != nil {
		return 0, l.refused
	}
	left := slot.Add(l.shift).Sub(now)
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
func (l *Limiter) depart(now time.Time, tokens float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requests.limit == 0 {
		l.forget(now)
		l.recent = append(l.recent, sent{now, tokens})
	}
}

// forget drops what is older than a minute.
func (l *Limiter) forget(now time.Time) {
	old := 0
	for old < len(l.recent) && now.Sub(l.recent[old].at) > time.Minute {
		old++
	}
	l.recent = l.recent[old:]
}

// answered lets the rates grow, and books what the answer took beyond the guess.
func (l *Limiter) answered(began time.Time, guess, used float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = 0
	if !began.After(l.cut) {
		return // the answer belongs to a rate that is gone
	}
	l.requests.raise(1)
	l.tokens.raise(used)
	if used > guess {
		l.tokens.next = l.tokens.next.Add(l.tokens.gap(used-guess, l.policy.Widest))
	}
}

// failed slows down when a provider was asked for too much, and stops when it
// takes nothing of this key.
func (l *Limiter) failed(began time.Time, err error) {
	var e *Error
	if !errors.As(err, &e) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if useless(e) && l.refused == nil {
		l.refused = fmt.Errorf("not asked again, after an earlier request of the run was refused: %w", err)
	}
	if e.Class == ClassUnavailable {
		if l.faults++; l.faults == 1 {
			l.since = l.policy.Now()
		}
		l.probe = l.policy.Now().Add(l.policy.Probe)
	}
	if !overloaded(e) {
		return
	}
	now := l.policy.Now()
	l.pause(now, e.RetryAfter)
	if began.After(l.cut) {
		l.lower(now, e.RetryAfter >= 0)
	}
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

// pause shifts the time line by as much as a pause goes beyond the one before.
func (l *Limiter) pause(now time.Time, d time.Duration) {
	until := now.Add(max(d, 0))
	if from := latest(now, l.paused); until.After(from) {
		l.shift += until.Sub(from)
		l.paused = until
	}
}

// lower cuts the rates. What is sent next begins the new ones, when the provider
// said for itself when that may be, else as if the refused request had.
func (l *Limiter) lower(now time.Time, asked bool) {
	l.forget(now)
	var tokens float64
	for _, s := range l.recent {
		tokens += s.tokens
	}
	l.requests.lower(float64(len(l.recent)))
	l.tokens.lower(tokens)
	l.recent, l.cut = nil, now
	l.requests.next = latest(latest(now, l.paused).Add(-l.shift), l.requests.next)
	if !asked {
		l.requests.next = l.requests.next.Add(l.requests.gap(1, l.policy.Widest))
	}
}

func latest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.After(first) {
			first = t
		}
	}
	return first
}
