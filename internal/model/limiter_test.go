package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/proc/clock"
)

// provider accepts a number of requests in a window of time, and notes when each
// came.
type provider struct {
	most   int           // in every window; 0 for any number
	window time.Duration // from the first request
	asks   time.Duration // Retry-After of a refusal
	delay  time.Duration // of a response

	mu      sync.Mutex
	began   time.Time
	taken   int
	came    []string // "who second"
	refused int
}

func (p *provider) Stream(_ context.Context, req Request, _ func(Delta)) (Response, error) {
	if p.take(req.CacheKey) {
		time.Sleep(p.delay)
		return Response{Text: "yes", Usage: &money.Usage{Input: 100, Output: 100}}, nil
	}
	return Response{}, &Error{Class: ClassRate, Status: 429, RetryAfter: p.asks, Err: errors.New("too many")}
}

func (p *provider) take(who string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.began.IsZero() || now.Sub(p.began) >= p.window {
		p.began, p.taken = now, 0
	}
	p.taken++
	if p.most > 0 && p.taken > p.most {
		p.refused++
		return false
	}
	p.came = append(p.came, who)
	return true
}

// holding returns a limiter that lets so many requests pass in a minute, and learns
// nothing.
func holding(requests float64, policy LimitPolicy) *Limiter {
	policy.Probing = 1e6 * time.Hour
	l := NewLimiter(policy)
	l.cut = policy.Now()
	l.rate.limit, l.rate.knee, l.rate.at = requests, requests, l.cut
	return l
}

// refusing returns a limiter whose provider has refused a request just now.
func refusing(policy LimitPolicy) *Limiter {
	l := NewLimiter(policy)
	l.denied = policy.Now()
	return l
}

// limits is the default policy in the time of a synctest bubble.
func limits() LimitPolicy { return DefaultLimitPolicy(time.Now) }

func TestNoDelayWithoutRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(limits())
		m := Limited(&provider{}, l, func(d time.Duration) { t.Errorf("held back for %v", d) })
		began := time.Now()
		for range 1000 {
			if _, err := m.Stream(t.Context(), Request{System: strings.Repeat("x", 1<<16)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("took %v", d)
		}
	})
}

func TestRetryAfterAppliesToAllRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{most: 1, window: 30 * time.Second, asks: 30 * time.Second}
		l := refusing(limits())
		began := time.Now()
		ask := func() error {
			_, err := Limited(p, l, nil).Stream(t.Context(), Request{}, nil)
			return err
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		if err := ask(); ClassOf(err) != ClassRate {
			t.Fatalf("got %v", err)
		}
		if err := ask(); err != nil { // another job, which knows nothing of the refusal
			t.Fatal(err)
		}
		if d := time.Since(began); d < 30*time.Second || d > 41*time.Second || p.refused != 1 {
			t.Errorf("sent after %v with %d refusals, want it after the pause", d, p.refused)
		}
	})
}

func TestSingleRefusalDelaysNoOtherRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(limits())
		refuse := func() { _ = l.failed(time.Now(), failing(ClassRate, 30*time.Second)) }
		free := func() bool { return !l.paused.After(time.Now()) && l.rate.limit == 0 }
		for range 3 {
			if refuse(); !free() {
				t.Fatal("a single refusal holds others back")
			}
			for range plenty {
				l.answered()
			}
		}
		refuse()
		if refuse(); free() {
			t.Error("a second refusal in a row holds nobody back")
		}
		time.Sleep(3 * memory)
		l.advance(time.Now())
		if refuse(); !free() {
			t.Error("a refusal is not forgotten")
		}
		l = NewLimiter(limits())
		if _ = l.failed(time.Now(), failing(ClassRate, time.Hour)); free() {
			t.Error("a wait beyond all patience is for one request only")
		}
	})
}

func TestRefusedRequestIsSentAfterRetryAfter(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{250 * time.Millisecond: 250 * time.Millisecond, 0: shortestPause, -1: shortestPause} {
		synctest.Test(t, func(t *testing.T) {
			l := refusing(limits())
			m := Retrying(Limited(&named{errs: []error{failing(ClassRate, asked)}}, l, nil), RetryPolicy{Retries: 1, Patience: time.Minute, Total: time.Minute, Sleep: clock.Wait, Rand: func() float64 { return 0 }}, nil)
			began := time.Now()
			if _, err := m.Stream(t.Context(), Request{}, nil); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d != want {
				t.Errorf("asked for %v, it was sent again after %v, want %v", asked, d, want)
			}
		})
	}
}

func TestRequestsAreSentInTheOrderInWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{}
		l := holding(60, limits())
		var all sync.WaitGroup
		var want []string
		for i := range 20 {
			who := fmt.Sprintf("job %d", i)
			want = append(want, who)
			all.Go(func() {
				if _, err := Limited(p, l, nil).Stream(t.Context(), Request{CacheKey: who}, nil); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			if i == 10 { // a pause changes no order
				l.failed(time.Now(), failing(ClassUnavailable, 20*time.Second))
			}
		}
		all.Wait()
		if diff := cmp.Diff(want, p.came); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestEightJobsShareAHarshLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{most: 10, window: time.Minute, asks: 20 * time.Second, delay: time.Second}
		l := NewLimiter(limits())
		var all sync.WaitGroup
		began := time.Now()
		const jobs, turns = 8, 20
		for range jobs {
			all.Go(func() {
				m := Retrying(Limited(p, l, nil), DefaultRetryPolicy(), nil)
				for range turns {
					if _, err := m.Stream(t.Context(), Request{}, nil); err != nil {
						t.Errorf("after %v: %v", time.Since(began), err)
					}
				}
			})
		}
		all.Wait()
		t.Logf("%d requests in %v with %d refusals", len(p.came), time.Since(began), p.refused)
		if len(p.came) != jobs*turns || p.refused > jobs*turns/2 {
			t.Errorf("%d answers and %d refusals", len(p.came), p.refused)
		}
		if d := time.Since(began); d > 30*time.Minute {
			t.Errorf("took %v, where the provider would have taken 16 minutes", d)
		}
	})
}

func TestRateDropsToAcceptedRate(t *testing.T) {
	const known, settled = 600, 60
	tests := []struct {
		name        string
		limit, knee float64
		n, seen     float64
		want        rate
	}{
		{"the first refusal", 0, 0, 100, 500, rate{limit: 500}},
		{"the first request is refused", 0, 0, 0, 0, rate{limit: 30}},
		{"another after few requests shows the limit", known, 0, 2, 40, rate{limit: 30, knee: 60}},
		{"a limit below the lowest rate that is assumed", known, 0, 1, 4, rate{limit: 4, knee: 8}},
		{"no limit is below all reason", known, 0, 1, 0.1, rate{limit: 0.15, knee: 0.3}},
		{"another after many requests is a single event", known, 0, 20, 400, rate{limit: 400}},
		{"unless a limit was seen", known, settled, 20, 400, rate{limit: 200, knee: 400}},
		{"nothing was accepted", known, settled, 0, 0, rate{limit: 300, knee: settled}},
		{"nothing was accepted at the lowest rate", 30, 0, 0, 0, rate{limit: 30}},
	}
	for _, test := range tests {
		got := rate{least: 30, limit: test.limit, knee: test.knee}
		test.want.least = 30
		if got.lower(test.n, test.seen); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestARateDoublesUpToItsKnee(t *testing.T) {
	p := LimitPolicy{Doubling: time.Second, Probing: 30 * time.Second, Widest: time.Minute}
	start := time.Unix(1e9, 0)
	for _, knee := range []float64{0, 240} {
		r := rate{least: 30, limit: 60, knee: knee, assigned: 1e9, at: start}
		for n := float64(0); n < 50; n += 0.5 {
			ahead := r.reach(n, p)
			later := r
			if later.advance(start.Add(ahead), p); later.passed < n-1e-6 || later.passed > n+1e-3 {
				t.Errorf("knee %v: %v after %v, when %v had passed", knee, n, ahead, later.passed)
			}
		}
		want := map[float64]float64{0: 480, 240: 240 * math.Exp2(1.0/30)}[knee]
		if r.advance(start.Add(3*time.Second), p); math.Abs(r.limit-want) > 1e-6 {
			t.Errorf("knee %v: after 3 s the rate is %v, want %v", knee, r.limit, want)
		}
	}
}

// TestOnlyRefusalsLowerTheRate lists what lowers the rates.
func TestOnlyRefusalsLowerTheRate(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		slows bool
	}{
		"too many requests":         {failing(ClassRate, -1), true},
		"an overloaded site":        {&Error{Class: ClassUnavailable, Status: 529, RetryAfter: -1}, true},
		"a fault with a wait":       {failing(ClassUnavailable, time.Second), true},
		"a fault":                   {failing(ClassUnavailable, -1), false},
		"an invalid request":        {failing(ClassRequest, 5), false},
		"a caller who gave up":      {context.Canceled, false},
		"a wrapped refusal":         {fmt.Errorf("ask: %w", failing(ClassRate, -1)), true},
		"a wrapped invalid request": {fmt.Errorf("ask: %w", failing(ClassRequest, -1)), false},
		"an incomplete response":    {failing(ClassProtocol, -1), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := refusing(limits())
			_, err := Limited(&named{errs: []error{test.err}}, l, nil).Stream(t.Context(), Request{}, nil)
			if ClassOf(err) != ClassOf(test.err) || l.rate.limit > 0 != test.slows || l.paused.After(time.Now()) != test.slows {
				t.Errorf("%s: got %v, rate %v, paused until %v", name, err, l.rate.limit, l.paused)
			}
		})
	}
}

// TestOneRefusalOfManyInFlightCounts holds many requests in flight to one cut.
func TestOneRefusalOfManyInFlightCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := refusing(limits())
		var began []time.Time
		for range 20 {
			at, err := l.enter(t.Context(), func(time.Duration) {})
			if err != nil {
				t.Fatal(err)
			}
			began = append(began, at)
			time.Sleep(100 * time.Millisecond)
		}
		var limits []float64
		for _, at := range began {
			_ = l.failed(at, failing(ClassRate, time.Second))
			limits = append(limits, l.rate.limit)
		}
		if want := 19.0 / 2 * 60; limits[0] != want || limits[19] != want {
			t.Errorf("rates %v, want that of 19 requests in 2 s at each", limits)
		}
	})
}

func TestWaitingForALimitIsBounded(t *testing.T) {
	tests := []struct {
		name   string
		pauses time.Duration
		busy   int // requests that wait already
		change func(*LimitPolicy)
	}{
		{"a pause that is too long", 86400 * time.Second, 0, nil},
		{"a pause that is a little too long", 121 * time.Second, 0, nil},
		{"too many before it", 0, 61, nil},
		{"a pause within a total that is short", 60 * time.Second, 0, func(p *LimitPolicy) { p.Total = 59 * time.Second }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy := limits()
				if test.change != nil {
					test.change(&policy)
				}
				l := holding(6, policy)
				for range test.busy {
					if _, err := l.position(time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				if test.pauses > 0 {
					l.failed(time.Now(), failing(ClassRate, test.pauses))
				}
				began := time.Now()
				_, err := Limited(&provider{}, l, nil).Stream(t.Context(), Request{}, nil)
				var e *Error
				if !errors.As(err, &e) || e.Class != ClassRate || e.RetryAfter < test.pauses || e.RetryAfter <= 0 {
					t.Errorf("got %v", err)
				}
				if d := time.Since(began); d != 0 {
					t.Errorf("failed after %v, want it immediately", d)
				}
			})
		})
	}
}

func TestPauseDuringWait(t *testing.T) {
	for _, test := range []struct {
		pause time.Duration
		fails bool
	}{{60 * time.Second, false}, {time.Hour, true}} {
		synctest.Test(t, func(t *testing.T) {
			l := holding(6, limits())
			began := time.Now()
			if _, err := l.position(began); err != nil {
				t.Fatal(err)
			}
			var waits []time.Duration
			var all sync.WaitGroup
			all.Go(func() {
				_, err := Limited(&provider{}, l, func(d time.Duration) { waits = append(waits, d.Round(time.Millisecond)) }).Stream(t.Context(), Request{}, nil)
				if (err != nil) != test.fails {
					t.Errorf("a pause of %v: %v", test.pause, err)
				}
			})
			synctest.Wait()
			l.failed(time.Now(), failing(ClassRate, test.pause))
			all.Wait()
			want := []time.Duration{10 * time.Second, test.pause}
			if test.fails {
				want = want[:1]
			}
			if diff := cmp.Diff(want, waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancelWhileRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("run cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		l := refusing(limits())
		l.failed(time.Now(), failing(ClassRate, time.Minute))
		p := &provider{}
		_, err := Limited(p, l, func(time.Duration) { cancel(reason) }).Stream(ctx, Request{}, nil)
		if !errors.Is(err, reason) || ClassOf(err) != "" || len(p.came) != 0 {
			t.Errorf("got %v", err)
		}
	})
}

// TestRejectedKeyIsNotSentAgain makes sure that of many jobs only those ask
// that were under way, and that a refusal of one model stops nobody else.
func TestRejectedKeyIsNotSentAgain(t *testing.T) {
	refusals := map[string]struct {
		err   *Error
		asked int
	}{
		"a wrong key":       {&Error{Class: ClassAuth, Status: 401, RetryAfter: -1, Err: errors.New("wrong key")}, 1},
		"no money":          {&Error{Class: ClassQuota, Status: 429, RetryAfter: -1, Err: errors.New("no credit")}, 1},
		"no such model":     {&Error{Class: ClassUnknown, Status: 404, RetryAfter: -1, Err: errors.New("none")}, 5},
		"a forbidden model": {&Error{Class: ClassAuth, Status: 403, RetryAfter: -1, Err: errors.New("not yours")}, 5},
		"a wrong endpoint":  {&Error{Class: ClassRequest, RetryAfter: -1, Unusable: true, Err: errors.New("unknown authority")}, 1},
		"a bad request":     {&Error{Class: ClassRequest, Status: 400, RetryAfter: -1, Err: errors.New("bad")}, 5},
	}
	for name, test := range refusals {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter(limits())
			asked := &named{errs: repeat(9, test.err)}
			began := time.Now()
			for i := range 5 {
				_, err := Retrying(Limited(asked, l, nil), DefaultRetryPolicy(), nil).Stream(t.Context(), Request{}, nil)
				if ClassOf(err) != test.err.Class || !strings.Contains(err.Error(), test.err.Err.Error()) {
					t.Errorf("%s: request %d got %v", name, i, err)
				}
			}
			if asked.made != test.asked || time.Since(began) != 0 {
				t.Errorf("%s: asked %d times in %v, want %d immediately", name, asked.made, time.Since(began), test.asked)
			}
		})
	}
}

// TestOutageIsSharedByJobs holds many jobs to a black hole,
// which fails each request after a minute, and to what becomes of them when it
// is back.
func TestOutageIsSharedByJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hole := &blackHole{until: time.Now().Add(20 * time.Minute)}
		l, g := NewLimiter(limits()), NewGate(time.Now)
		var jobs atomic.Int32
		ask := func() error {
			o := Outage{Job: jobs.Add(1), Wait: 5 * time.Minute}
			_, err := Retrying(Gated(Limited(hole, l, nil), g, o), waiting(o.Wait), nil).Stream(t.Context(), Request{}, nil)
			return err
		}
		began := time.Now()
		var all sync.WaitGroup
		for range 4 { // concurrently, ten jobs each
			all.Go(func() {
				for range 10 {
					if err := ask(); ClassOf(err) != ClassUnavailable {
						t.Errorf("got %v", err)
					}
				}
			})
		}
		all.Wait()
		if d := time.Since(began); d > 10*time.Minute { // each alone would take five
			t.Errorf("forty jobs waited for %v", d)
		}
		t.Logf("%d requests in %v", hole.asked, time.Since(began))
		time.Sleep(time.Until(hole.until))
		for range 3 {
			if err := ask(); err != nil {
				t.Errorf("the provider is back, and still there is %v", err)
			}
		}
	})
}

// blackHole fails requests after a minute, until it responds again.
type blackHole struct {
	until time.Time
	mu    sync.Mutex
	asked int
}

func (b *blackHole) Stream(context.Context, Request, func(Delta)) (Response, error) {
	b.mu.Lock()
	b.asked++
	b.mu.Unlock()
	if time.Now().Before(b.until) {
		time.Sleep(time.Minute)
		return Response{}, failing(ClassUnavailable, -1)
	}
	return Response{Text: "yes"}, nil
}
