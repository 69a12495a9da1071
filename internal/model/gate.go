package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Probes of a provider that is down: the wait before the first, which doubles with each.
const (
	firstProbe = time.Second
	lastProbe  = 15 * time.Second
)

// noticeEvery is how often an outage is reported.
const noticeEvery = time.Minute

// A request is alone with its failures if it has failed soloFailures times, and meanwhile
// soloSuccesses others succeeded, and few failed.
const (
	soloFailures  = 5
	soloSuccesses = 12
)

// Gate stops the requests of all jobs to a provider that is down. It is safe for concurrent use.
//
// It closes when requests of two jobs fail and none that was sent meanwhile succeeds: the
// connection, 5xx, or 429, without a Retry-After. While it is closed, one request is sent per
// probe interval. The first sign of a response opens it. A request that alone fails, whose content
// may be the cause, closes nothing.
type Gate struct {
	now func() time.Time

	mu       sync.Mutex
	failures map[*gated]*failure // of requests that have not succeeded since
	opened   chan struct{}       // closed when the gate opens; nil while it is open
	since    time.Time           // start of the outage
	cause    error               // its last failure
	probe    time.Time           // when a request may be sent
	interval time.Duration       // between this probe and the next
	noticed  time.Time           // the last notice
	waiting  int                 // requests
}

// failure counts the failures of one request.
type failure struct {
	n           int       // of them
	first, last time.Time // since the gate was last opened
	ok, failed  int       // other requests since first
}

// NewGate returns an open Gate.
func NewGate(now func() time.Time) *Gate {
	return &Gate{now: now, failures: map[*gated]*failure{}}
}

// Outage is how a session waits for a provider that is down.
type Outage struct {
	Job   any                    // that the session belongs to; comparable
	Wait  time.Duration          // longest wait, from the start of the outage
	Pause func() (resume func()) // called around each wait; may be nil
	// Notify is called about once a minute by one of the requests that wait, and by each at the end
	// of its wait. It may be nil.
	Notify func(Held)
}

// Held is the state of a request that waits for a provider that is down.
type Held struct {
	Failures int           // of the request so far
	Waited   time.Duration // at the end of the wait; 0 for a notice
	Down     time.Duration // duration of the outage
	Requests int           // number of requests that wait
	Err      error         // why the gate is closed
}

// Gated returns m, for one session, with requests that wait while g is closed. It belongs inside
// [Retrying], so that every attempt waits. A request fails if the outage is longer than o.Wait,
// and so do later ones, except probes.
func Gated(m Model, g *Gate, o Outage) Model {
	if o.Notify == nil {
		o.Notify = func(Held) {}
	}
	return &gated{m, g, o}
}

type gated struct {
	next   Model
	gate   *Gate
	outage Outage
}

// verdict is a failed request with what the gate made of it.
type verdict struct {
	error
	closed bool // the next attempt waits at the gate
	alone  bool // only this request fails
	final  bool // the outage took too long
}

func (v *verdict) Unwrap() error { return v.error }

func (m *gated) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	if err := m.enter(ctx); err != nil {
		return Response{}, err
	}
	began := m.gate.now()
	first := sync.OnceFunc(m.gate.open)
	resp, err := m.next.Stream(ctx, req, func(d Delta) {
		first()
		if emit != nil {
			emit(d)
		}
	})
	var e *Error
	switch {
	case err == nil:
		m.gate.succeeded(m, began)
	case !errors.As(err, &e): // the caller's end
	case !temporary(e, resp):
		m.gate.answered(m, began)
	default:
		return resp, m.gate.failed(m, e, err)
	}
	return resp, err
}

// temporary reports whether a failure is that of a provider which may be down: it has not started
// a response.
func temporary(e *Error, resp Response) bool {
	return (e.Class == ClassUnavailable || e.Class == ClassRate) && resp.Lost == nil
}

// enter waits until the gate is open, or a probe is due.
func (m *gated) enter(ctx context.Context) error {
	g := m.gate
	var began time.Time
	for {
		wait, opened, held, err := g.admit(m, began.IsZero())
		if opened == nil && began.IsZero() {
			return err
		}
		if opened == nil {
			held.Waited = g.now().Sub(began)
			m.outage.Notify(held)
			return err
		}
		if began.IsZero() {
			began = g.now()
			defer g.leave()
			if m.outage.Pause != nil {
				defer m.outage.Pause()()
			}
		}
		if held.Err != nil {
			m.outage.Notify(held)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, while waiting for a provider that is down", context.Cause(ctx))
		case <-opened:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// admit returns how long a request waits at most until it asks again, and a channel that is closed
// before if the gate opens: nil if the request may be sent, or fails with err. held has an Err
// if a notice is due, and at the end.
func (g *Gate) admit(m *gated, arrives bool) (wait time.Duration, opened chan struct{}, held Held, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	held = Held{Down: now.Sub(g.since), Err: g.cause}
	if f := g.failures[m]; f != nil {
		held.Failures = f.n
	}
	end := g.since.Add(m.outage.Wait)
	switch {
	case g.opened == nil:
		return 0, nil, held, nil
	case !now.Before(g.probe):
		g.probe = now.Add(g.interval)
		g.interval = min(2*g.interval, lastProbe)
		return 0, nil, held, nil
	case !now.Before(end):
		return 0, nil, held, g.tooLong(now)
	}
	if arrives {
		g.waiting++
	}
	held.Requests = g.waiting
	if now.Sub(g.noticed) < noticeEvery {
		held.Err = nil
	} else {
		g.noticed = now
	}
	return min(g.probe.Sub(now), end.Sub(now), g.noticed.Add(noticeEvery).Sub(now)), g.opened, held, nil
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
}

// tooLong is the error of a request after an outage that took too long.
func (g *Gate) tooLong(now time.Time) error {
	e := Error{Class: ClassUnavailable, RetryAfter: -1, Err: g.cause}
	if last := (*Error)(nil); errors.As(g.cause, &last) {
		e = *last
	}
	e.Err = fmt.Errorf("the provider has been down for %v: %w", now.Sub(g.since).Round(time.Second), e.Err)
	return &verdict{error: &e, final: true}
}

// open opens the gate after a sign of life.
func (g *Gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reopen()
}

func (g *Gate) reopen() {
	if g.opened == nil {
		return
	}
	close(g.opened)
	g.opened = nil
	now := g.now()
	for m, f := range g.failures {
		g.failures[m] = &failure{n: f.n, first: now}
	}
}

// succeeded notes a response to a request that was sent at began.
func (g *Gate) succeeded(m *gated, began time.Time) {
	g.answered(m, began)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.failures {
		if began.After(f.first) {
			f.ok++
		}
	}
}

// answered notes that the provider has answered a request that was sent at began.
func (g *Gate) answered(m *gated, began time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.failures, m)
	if !began.Before(g.since) {
		g.reopen()
	}
}

// failed notes a failure and returns it as a verdict.
func (g *Gate) failed(m *gated, e *Error, err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	own := g.failures[m]
	if own == nil {
		own = &failure{first: now}
		g.failures[m] = own
	}
	own.n++
	own.last = now
	for other, f := range g.failures {
		switch {
		case other == m:
		case now.Sub(f.last) > memory && now.Sub(f.first) > memory && g.opened == nil:
			delete(g.failures, other) // its session has ended, or works
		default:
			f.failed++
		}
	}
	v := &verdict{error: err, alone: alone(own, e)}
	if g.opened == nil && !v.alone && (e.RetryAfter <= 0 || e.Undated) && !e.Brief {
		g.judge(m, own, now)
	}
	if v.closed = g.opened != nil; v.closed {
		g.cause = err
		g.probe = latest(g.probe, now.Add(g.interval/2)) // also after one that took long
		v.final = now.Sub(g.since) >= m.outage.Wait
	}
	return v
}

// alone reports whether a request fails because of itself. One that gets no response does not.
func alone(f *failure, e *Error) bool {
	return e.Status >= http.StatusInternalServerError && f.n >= soloFailures && f.ok >= soloSuccesses && f.ok > 8*f.failed
}

// judge closes the gate if requests of two jobs fail.
func (g *Gate) judge(m *gated, own *failure, now time.Time) {
	if own.ok > 0 {
		return
	}
	for other, f := range g.failures {
		if other.outage.Job == m.outage.Job || f.ok > 0 || now.Sub(f.last) > memory {
			continue
		}
		g.opened = make(chan struct{})
		g.since = own.first
		if f.first.Before(g.since) {
			g.since = f.first
		}
		g.probe, g.interval, g.noticed = now.Add(firstProbe), 2*firstProbe, time.Time{}
		return
	}
}
