package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// provider takes a number of requests in a window of time, and notes when each
// came.
type provider struct {
	most   int           // in every window; 0 for any number
	window time.Duration // from the first request
	asks   time.Duration // Retry-After of a refusal
	takes  time.Duration // for an answer

	mu      sync.Mutex
	began   time.Time
	taken   int
	came    []string // "who second"
	refused int
}

func (p *provider) Stream(_ context.Context, req Request, _ func(Delta)) (Response, error) {
	if p.take(req.CacheKey) {
		time.Sleep(p.takes)
		return Response{Text: "yes", Usage: &Usage{Input: 100, Output: 100}}, nil
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

// limits is the default policy in the time of a synctest bubble.
func limits() LimitPolicy { return DefaultLimitPolicy(time.Now) }

func TestNothingIsHeldBackWhileEverythingIsTaken(t *testing.T) {
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

func TestOneRetryAfterHoldsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{most: 1, window: 30 * time.Second, asks: 30 * time.Second}
		l := NewLimiter(limits())
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
			t.Errorf("sent after %v with %d refusals, want it once the pause is over", d, p.refused)
		}
	})
}

func TestARefusedRequestIsSentWhenTheProviderSaid(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{250 * time.Millisecond: 250 * time.Millisecond, 0: 0, -1: 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter(limits())
			m := Retrying(Limited(&named{errs: []error{failing(ClassRate, asked)}}, l, nil), RetryPolicy{Retries: 1, Patience: time.Minute, Total: time.Minute, Sleep: sleep, Rand: func() float64 { return 0 }}, nil)
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
		l := NewLimiter(limits())
		l.requests.limit, l.tokens.limit = 60, 1e9
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
		p := &provider{most: 10, window: time.Minute, asks: 20 * time.Second, takes: time.Second}
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

func TestRatesFallAtOnceAndGrowSlowly(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := LimitPolicy{Requests: 6, Tokens: 1000, Widest: 10 * time.Second, Now: func() time.Time { return now }}
	l := NewLimiter(p)
	for range 100 {
		l.depart(now, 50)
		now = now.Add(100 * time.Millisecond)
	}
	rates := func() string { return fmt.Sprintf("%.1f %.0f", l.requests.limit, l.tokens.limit) }
	refusal := failing(ClassRate, -1)
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"what the last minute took is halved", func() { l.failed(now, refusal) }, "50.0 2500"},
		{"a request from before tells nothing new", func() { l.failed(now, refusal) }, "50.0 2500"},
		{"and neither does its answer", func() { l.answered(now.Add(-time.Second), 1, 1) }, "50.0 2500"},
		{"an answer lets the rates grow", func() { now = now.Add(time.Second); l.answered(now, 50, 50) }, "50.1 2520"},
		{"a minute of answers is about a step", func() {
			for range 50 {
				l.answered(now, 50, 50)
			}
		}, "55.8 3371"},
		{"a refusal halves the rate", func() { l.failed(now, refusal) }, "27.9 1686"},
		{"a fault is no refusal", func() { now = now.Add(time.Second); l.failed(now, failing(ClassUnavailable, -1)) }, "27.9 1686"},
		{"neither is a request that is none", func() { l.failed(now, failing(ClassRequest, 5)) }, "27.9 1686"},
		{"neither is a caller who gave up", func() { l.failed(now, context.Canceled) }, "27.9 1686"},
		{"an overloaded site is", func() { l.failed(now, &Error{Class: ClassUnavailable, Status: 529, RetryAfter: -1}) }, "13.9 1000"},
		{"so is one that asks to wait", func() { now = now.Add(time.Second); l.failed(now, failing(ClassUnavailable, time.Second)) }, "7.0 1000"},
		{"there is a least rate", func() { now = now.Add(time.Second); l.failed(now, refusal) }, "6.0 1000"},
	}
	for _, s := range steps {
		if s.do(); rates() != s.want {
			t.Errorf("%s: rates %s, want %s", s.name, rates(), s.want)
		}
	}
}

func TestTokensAreSpreadToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(limits())
		l.requests.limit, l.tokens.limit = 1e6, 60_000
		p := &provider{}
		began := time.Now()
		for range 4 { // the guess is 2000 tokens, which take 2 seconds
			if _, err := Limited(p, l, nil).Stream(t.Context(), Request{System: strings.Repeat("x", 8000)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began).Round(100 * time.Millisecond); d != 6*time.Second {
			t.Errorf("four requests began within %v, want 6s", d)
		}
		began = time.Now()
		if _, err := Limited(p, l, nil).Stream(t.Context(), Request{System: strings.Repeat("x", 80<<20)}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Limited(p, l, nil).Stream(t.Context(), Request{}, nil); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began).Round(time.Second); d != 12*time.Second {
			t.Errorf("after a huge request the next one began after %v, want 2s and the widest gap", d)
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
				l := NewLimiter(policy)
				l.requests.limit, l.tokens.limit = 6, 1e9
				for range test.busy {
					if _, err := l.book(time.Now(), 1); err != nil {
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
					t.Errorf("failed after %v, want it at once", d)
				}
			})
		})
	}
}

func TestAPauseThatComesWhileWaiting(t *testing.T) {
	for _, test := range []struct {
		pause time.Duration
		fails bool
	}{{60 * time.Second, false}, {time.Hour, true}} {
		synctest.Test(t, func(t *testing.T) {
			l := NewLimiter(limits())
			l.requests.limit, l.tokens.limit = 6, 1e9
			began := time.Now()
			if _, err := l.book(began, 1); err != nil {
				t.Fatal(err)
			}
			var waits []time.Duration
			var all sync.WaitGroup
			all.Go(func() {
				_, err := Limited(&provider{}, l, func(d time.Duration) { waits = append(waits, d) }).Stream(t.Context(), Request{}, nil)
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

func TestACancelledWaitForALimitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("the run is over")
		ctx, cancel := context.WithCancelCause(t.Context())
		l := NewLimiter(limits())
		l.failed(time.Now(), failing(ClassRate, time.Minute))
		p := &provider{}
		_, err := Limited(p, l, func(time.Duration) { cancel(reason) }).Stream(ctx, Request{}, nil)
		if !errors.Is(err, reason) || ClassOf(err) != "" || len(p.came) != 0 {
			t.Errorf("got %v", err)
		}
	})
}

// TestAKeyThatIsRefusedIsNotSentAgain makes sure that of many jobs only those ask
// that were under way, and that a refusal of one model stops nobody else.
func TestAKeyThatIsRefusedIsNotSentAgain(t *testing.T) {
	refusals := map[string]struct {
		err   *Error
		asked int
	}{
		"a wrong key":       {&Error{Class: ClassAuth, Status: 401, RetryAfter: -1, Err: errors.New("wrong key")}, 1},
		"no money":          {&Error{Class: ClassQuota, Status: 429, RetryAfter: -1, Err: errors.New("no credit")}, 1},
		"no such model":     {&Error{Class: ClassUnknown, Status: 404, RetryAfter: -1, Err: errors.New("none")}, 5},
		"a forbidden model": {&Error{Class: ClassAuth, Status: 403, RetryAfter: -1, Err: errors.New("not yours")}, 5},
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
				t.Errorf("%s: asked %d times in %v, want %d at once", name, asked.made, time.Since(began), test.asked)
			}
		})
	}
}

// TestAProviderThatIsDownIsNotWaitedForByEveryJob holds many jobs to a black hole,
// which takes a minute to fail each request, and to what becomes of them when it
// is back.
func TestAProviderThatIsDownIsNotWaitedForByEveryJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hole := &blackHole{until: time.Now().Add(20 * time.Minute)}
		l := NewLimiter(limits())
		ask := func() error {
			_, err := Retrying(Limited(hole, l, nil), DefaultRetryPolicy(), nil).Stream(t.Context(), Request{}, nil)
			return err
		}
		began := time.Now()
		var all sync.WaitGroup
		for range 4 { // at once, ten jobs each
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

// blackHole takes a minute to fail, until it answers again.
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
