package model

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// waiting is the default policy with the wait for outages.
func waiting(d time.Duration) RetryPolicy {
	p := DefaultRetryPolicy()
	p.Wait, p.Now = d, time.Now
	return p
}

// flaky is a provider that fails requests, and notes when it got which.
type flaky struct {
	fails   func(job string, n int, at time.Duration) error // of the n-th request, from 1
	respond time.Duration

	mu    sync.Mutex
	began time.Time
	asked []time.Duration // since began
}

func (f *flaky) Stream(_ context.Context, req Request, emit func(Delta)) (Response, error) {
	f.mu.Lock()
	at := time.Since(f.began)
	f.asked = append(f.asked, at)
	err := f.fails(req.CacheKey, len(f.asked), at)
	f.mu.Unlock()
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return Response{}, err
	}
	time.Sleep(f.respond)
	if emit != nil {
		emit(Delta{Kind: TextDelta, Text: "x"})
	}
	return Response{Text: "yes"}, nil
}

// between counts the requests in a range of time.
func (f *flaky) between(from, to time.Duration) (n int) {
	for _, at := range f.asked {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func answered(status int) error {
	return &Error{Class: ClassUnavailable, Status: status, RetryAfter: -1, Err: errors.New("down")}
}

func refusedConnection() error {
	return &Error{Class: ClassUnavailable, RetryAfter: -1, Err: errors.New("connection refused")}
}

// outage fails everything in a range of time.
func outage(from, to time.Duration, err error) func(string, int, time.Duration) error {
	return func(_ string, _ int, at time.Duration) error {
		if at >= from && at < to {
			return err
		}
		return nil
	}
}

// What is paid for is not repeated for minutes.
func TestBrokenResponsesAreNotWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &attempts{with: slices.Repeat([]Response{{Lost: &money.Charge{Estimated: true}}}, 9), errs: repeat(9, failing(ClassUnavailable, -1))}
		m := Retrying(Gated(broken, NewGate(time.Now), Outage{Wait: time.Hour}), waiting(time.Hour), nil)
		if _, err := m.Stream(t.Context(), Request{}, nil); ClassOf(err) != ClassUnavailable || broken.made != 5 {
			t.Errorf("%d requests: %v", broken.made, err)
		}
		unknown := &named{errs: repeat(9, &Error{Class: ClassUnavailable, RetryAfter: -1, Brief: true, Err: errors.New("no such host")})}
		m = Retrying(Gated(unknown, NewGate(time.Now), Outage{Wait: time.Hour}), waiting(time.Hour), nil)
		if _, err := m.Stream(t.Context(), Request{}, nil); ClassOf(err) != ClassUnavailable || unknown.made != 5 {
			t.Errorf("%d requests: %v", unknown.made, err)
		}
	})
}

// closedGate returns a gate that failures of two jobs have closed.
func closedGate(t *testing.T) *Gate {
	t.Helper()
	g := NewGate(time.Now)
	for _, job := range []string{"a", "b"} {
		_, _ = Gated(&named{errs: repeat(1, answered(503))}, g, Outage{Job: job, Wait: time.Hour}).Stream(t.Context(), Request{}, nil)
	}
	if g.opened == nil {
		t.Fatal("the gate is open")
	}
	g.probe = time.Now().Add(time.Hour)
	return g
}

func TestAGateOpensIfTheProviderResponds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, err := range map[string]error{
			"a response":         nil,
			"a rejected key":     failing(ClassAuth, -1),
			"a garbled response": failing(ClassProtocol, -1),
			"a rejected request": failing(ClassRequest, -1),
		} {
			g := closedGate(t)
			g.probe = time.Now()
			_, _ = Gated(&named{errs: []error{err}}, g, Outage{Job: "c", Wait: time.Hour}).Stream(t.Context(), Request{}, nil)
			if g.opened != nil {
				t.Errorf("closed after %s", name)
			}
		}
	})
}

func TestCancelAtTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := closedGate(t)
		reason := errors.New("run cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		p, began := &named{}, time.Now()
		time.AfterFunc(3*time.Second, func() { cancel(reason) })
		resumed := false
		m := Gated(p, g, Outage{Job: "c", Wait: time.Hour, Pause: func() func() { return func() { resumed = true } }})
		_, err := Retrying(m, waiting(time.Hour), nil).Stream(ctx, Request{}, nil)
		if !errors.Is(err, reason) || ClassOf(err) != "" || p.made != 0 || time.Since(began) != 3*time.Second || !resumed || g.waiting != 0 {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// A session with another model uses that soon.
func TestFallbackAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := NewGate(time.Now), time.Now()
		down := &flaky{fails: outage(0, time.Hour, answered(503)), began: began}
		var after []time.Duration
		for i := range 3 { // one after the other
			const wait = time.Minute
			from := time.Now()
			first := Retrying(Gated(down, g, Outage{Job: i, Wait: wait}), waiting(wait), nil)
			resp, err := Fallback([]Named{{"a", first}, {"b", &named{name: "b"}}}, nil).Stream(t.Context(), Request{}, nil)
			if err != nil || resp.Model != "b" {
				t.Errorf("got %+v, %v", resp, err)
			}
			after = append(after, time.Since(from))
		}
		if after[0] < 55*time.Second || after[0] > 61*time.Second || after[2] > 61*time.Second {
			t.Errorf("fell back after %v", after)
		}
	})
}
