package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/millhand/millhand/internal/proc/clock"
)

// LimitPolicy configures how a [Limiter] delays requests.
type LimitPolicy struct {
	Requests float64       // per minute: the lowest rate
	Doubling time.Duration // in which a rate doubles after a refusal
	Probing  time.Duration // in which it doubles above what the provider was observed to accept
	Widest   time.Duration // longest gap after one request, and longest pause that no provider requested
	Patience time.Duration // longest pause that a provider may request; beyond it requests fail immediately
	Total    time.Duration // longest delay of one request
	Rejected time.Duration // how long a rejected key is not sent; 0: never again

	// Now returns the current time.
	Now func() time.Time
	// Sleep waits for d, or returns the context's cause when that ends first.
	Sleep func(ctx context.Context, d time.Duration) error
}

// DefaultLimitPolicy is the policy for a real provider: rates that double every
// second up to what the provider was observed to accept, and every half minute above
// that, a pause of at most two minutes, as in [DefaultRetryPolicy], and no request
// delayed for longer than ten minutes.
func DefaultLimitPolicy(now func() time.Time) LimitPolicy {
	return LimitPolicy{
		Requests: 120,
		Doubling: time.Second,
		Probing:  30 * time.Second,
		Widest:   10 * time.Second,
		Patience: 120 * time.Second,
		Total:    10 * time.Minute,
		Now:      now,
		Sleep:    clock.Wait,
	}
}

// Limiter delays the requests of all users of a provider's key, to stay within
// limits that it has to discover. It is safe for concurrent use.
//
// While the provider accepts everything, nothing is delayed. A single rejection for
// too many requests delays that request alone, for as long as the provider requests
// (Retry-After), and so does each one after which others are accepted. When the next
// request is rejected as well, all requests pause for that time. Afterwards the rate
// starts at the rejected one, and doubles within seconds. A further rejection shows
// what the provider accepts: what it accepted in between. Above that rate the growth
// is slow, so that a real limit rejects few requests. Requests that were in flight
// at a rejection show nothing new. After a minute without a rejection the rate is
// forgotten. If the limit is one of tokens, fewer requests are fewer tokens, too.
//
// A key that the provider rejects, or whose quota is exceeded, is not sent again:
// every other request fails immediately with the error of the first one.
//
// With OnPause, other processes use the same key: a rejection delays the requests of all
// of them, also a single one. That does not lower the rate.
//
// Requests are sent in order: each has a position in the sequence of all requests,
// and waits until the rate has reached it. This needs no queue and no wake-ups.
type Limiter struct {
	// OnPause is called when a rejection pauses all requests, to announce it to other
	// processes, which call Pause. It is set before the first request, and must not block. nil
	// if no other process uses the key.
	OnPause func(d time.Duration)

	policy LimitPolicy

	mu        sync.Mutex
	rate      rate
	recent    []time.Time // when the requests of the last minute were sent
	cut       time.Time   // the last decrease
	streak    int         // decreases with nothing accepted in between, after the first
	denied    time.Time   // the last rejection
	responses int         // since then
	paused    time.Time   // nothing is sent before
	refused   error       // why the key can't be used any more, or nil
	rejected  time.Time   // since when
}

// NewLimiter returns a Limiter for one key of one provider.
func NewLimiter(p LimitPolicy) *Limiter {
	return &Limiter{policy: p, rate: rate{least: p.Requests}}
}

// Limited returns m with its requests delayed by l, which others share. It belongs
// inside [Retrying], so that every attempt counts.
//
// A request that would be delayed for longer than the policy allows fails with
// [ClassRate] and the remaining delay as its RetryAfter.
//
// notify, if not nil, is called before a request is delayed, and again if a pause
// starts meanwhile.
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

// enter waits until a request may be sent and returns that time.
func (l *Limiter) enter(ctx context.Context, notify func(time.Duration)) (time.Time, error) {
	came := l.policy.Now()
	at, err := l.position(came)
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

// position assigns a request its position in the sequence, unless it would have to
// wait there for too long.
func (l *Limiter) position(now time.Time) (at float64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.rejection(now); err != nil {
		return 0, err
	}
	l.advance(now)
	at = l.rate.assigned
	if err := l.patient(l.left(at, now), now, now); err != nil {
		return at, err
	}
	l.rate.assign(l.policy)
	return at, nil
}

// advance updates the rate for the time since the last call.
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

// rejection returns why the key is not sent, nil if it is.
func (l *Limiter) rejection(now time.Time) error {
	if l.policy.Rejected > 0 && now.Sub(l.rejected) >= l.policy.Rejected {
		l.refused = nil
	}
	return l.refused
}

// wait is the remaining time before a position, or the error that it is too long.
func (l *Limiter) wait(at float64, came, now time.Time) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.rejection(now); err != nil {
		return 0, err
	}
	l.advance(now)
	left := l.left(at, now)
	return left, l.patient(left, came, now)
}

// patient fails if the policy does not allow a wait for a request that came then.
func (l *Limiter) patient(wait time.Duration, came, now time.Time) error {
	if wait > 0 && (l.paused.Sub(now) > l.policy.Patience || now.Add(wait).Sub(came) > l.policy.Total) {
		return tooLong(wait)
	}
	return nil
}

func tooLong(wait time.Duration) error {
	return &Error{Class: ClassRate, RetryAfter: wait, Err: fmt.Errorf("rate limited by the provider; retry after %v", wait.Round(time.Second))}
}

// depart records that a request is sent.
func (l *Limiter) depart(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := 0
	for old < len(l.recent) && now.Sub(l.recent[old]) > memory {
		old++
	}
	l.recent = append(l.recent[old:], now)
}

// answered records that the provider accepted a request.
func (l *Limiter) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.responses++
}

// failed lowers the rate if the provider was overloaded, and stops if it rejects the
// key. It returns err; a rejection gets the pause of all requests as its RetryAfter.
func (l *Limiter) failed(began time.Time, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	announced, err := l.rejectedBy(began, e, err)
	if announced > 0 && l.OnPause != nil {
		l.OnPause(announced)
	}
	return err
}

// rejectedBy is failed with the [*Error] in err. It returns the pause that others have to
// know of; 0 for none.
func (l *Limiter) rejectedBy(began time.Time, e *Error, err error) (announced time.Duration, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.policy.Now()
	if useless(e) && l.refused == nil {
		l.rejected = now
		l.refused = fmt.Errorf("not sent because %s an earlier request of the run: %w", refuser(e), err)
	}
	if !overloaded(e) {
		return 0, err
	}
	alone := l.alone(now, e.RetryAfter)
	l.denied, l.responses = now, 0
	if alone && l.OnPause == nil {
		return 0, err
	}
	if l.OnPause != nil {
		l.rate.least = l.policy.Requests / sharing
	}
	l.advance(now)
	before, news := l.paused, began.After(l.cut)
	if news && !alone {
		l.lower(began, now)
	}
	l.pause(now.Add(l.pauseFor(e.RetryAfter)))
	refusal := *e
	refusal.RetryAfter, refusal.Undated = l.paused.Sub(now), e.RetryAfter <= 0
	if news || l.paused.Sub(before) >= shortestPause {
		announced = refusal.RetryAfter
	}
	return announced, &refusal
}

// Pause delays all requests for d, because the provider rejected one of another process with
// the same key, and lowers the rate as a rejection of an own one would. It is not announced.
func (l *Limiter) Pause(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.policy.Now()
	alone := l.alone(now, d)
	l.denied, l.responses = now, 0
	l.rate.least = l.policy.Requests / sharing
	l.advance(now)
	// During a pause it is due to requests that were in flight, which show nothing new.
	if began := now.Add(-quick); !alone && !now.Before(l.paused) {
		if n, _ := l.accepted(began); n > 0 || l.rate.limit == 0 {
			l.lower(began, now)
		}
	}
	l.pause(now.Add(d))
}

// useless reports whether a failure is due to the key or the endpoint, whatever the request:
// other rejections may be due to one model.
func useless(e *Error) bool {
	return e.Status == http.StatusUnauthorized || e.Class == ClassQuota || e.Unusable
}

// refuser is what failed a request that shows that others are useless.
func refuser(e *Error) string {
	if e.Unusable {
		return "the endpoint failed"
	}
	return "the provider rejected"
}

// overloaded reports whether a provider rejects requests for their number: 429, 529,
// or any other temporary failure with a Retry-After.
func overloaded(e *Error) bool {
	const siteOverloaded = 529
	return e.Class == ClassRate || e.Status == http.StatusTooManyRequests || e.Status == siteOverloaded || e.Retryable() && e.RetryAfter > 0
}

// quick is the longest time until a rejection: older requests were accepted.
const quick = time.Second

// sharing is for how many processes the lowest rate of a key is enough.
const sharing = 8

// alone reports whether a rejection does not apply to other requests: no limit was
// observed, and it is the first for a while, or many requests were accepted since
// the last one. Then only the rejected request waits, unless other processes use the key, too.
func (l *Limiter) alone(now time.Time, asked time.Duration) bool {
	return asked <= l.policy.Patience && l.rate.limit == 0 && (now.Sub(l.denied) > memory || l.responses >= plenty)
}

// pauseFor is how long to pause after a rejection: as long as the provider requests,
// and longer after each consecutive rejection if it requests little or nothing.
func (l *Limiter) pauseFor(asked time.Duration) time.Duration {
	longest := longestPause
	if asked >= 0 {
		longest = maxRetryAfter
	}
	return max(asked, min(shortestPause<<l.streak, longest))
}

// pause delays all requests until a time.
func (l *Limiter) pause(until time.Time) {
	l.paused = latest(l.paused, until)
	l.rate.at = l.paused
}

// lower lowers the rate after the rejection of a request that was sent at began, by
// what was accepted in the observed time.
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

// accepted counts the requests since the last decrease that were sent before the
// rejected one: those after it are undecided. Without a decrease, all except the
// rejected one count.
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
