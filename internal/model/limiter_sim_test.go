package model

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millhand/millhand/internal/money"
)

// site is a simulated provider: whether it accepts its n-th request, from 1, at a
// time since its start, and its Retry-After if not.
type site func(n int, at time.Duration) (retryAfter time.Duration, accepts bool)

// denying refuses the requests with these numbers.
func denying(after time.Duration, numbers ...int) func() site {
	return func() site {
		return func(n int, _ time.Duration) (time.Duration, bool) {
			return after, !slices.Contains(numbers, n)
		}
	}
}

// storm refuses all requests from one time to another.
func storm(after, from, to time.Duration) func() site {
	return func() site {
		return func(_ int, at time.Duration) (time.Duration, bool) {
			return after, at < from || at >= to
		}
	}
}

// bucket accepts so many requests per minute (a token bucket), and burst of them
// at once. It asks for the exact wait, or for none if it is silent.
func bucket(perMinute, burst float64, silent bool) func() site {
	return func() site {
		level, last := burst, time.Duration(0)
		return func(_ int, at time.Duration) (time.Duration, bool) {
			level, last = min(burst, level+perMinute*(at-last).Minutes()), at
			if level >= 1-1e-9 {
				level--
				return 0, true
			}
			if silent {
				return -1, false
			}
			return time.Duration((1-level)/perMinute*float64(time.Minute)) + time.Microsecond, false
		}
	}
}

// window accepts so many requests in each minute of the clock.
func window(perMinute int) func() site {
	return func() site {
		taken, current := 0, time.Duration(-1)
		return func(_ int, at time.Duration) (time.Duration, bool) {
			if start := at.Truncate(time.Minute); start != current {
				taken, current = 0, start
			}
			if taken++; taken > perMinute {
				return current + time.Minute - at, false
			}
			return 0, true
		}
	}
}

// simulation is some jobs that make turns each, one after the other, at a site
// that takes so long for a response and for a refusal.
type simulation struct {
	site    func() site
	jobs    int
	turns   int
	respond time.Duration
	refusal time.Duration
}

// simulated serves one simulation.
type simulated struct {
	simulation
	site  site
	began time.Time

	lenient bool // requests may fail

	mu      sync.Mutex
	asked   int
	refused int
}

func (s simulation) open() *simulated {
	return &simulated{simulation: s, site: s.site(), began: time.Now()}
}

// Stream implements [Model].
func (s *simulated) Stream(context.Context, Request, func(Delta)) (Response, error) {
	s.mu.Lock()
	s.asked++
	n := s.asked
	after, ok := s.site(n, time.Since(s.began))
	if !ok {
		s.refused++
	}
	s.mu.Unlock()
	if !ok {
		time.Sleep(s.refusal)
		return Response{}, &Error{Class: ClassRate, Status: 429, RetryAfter: after, Err: errors.New("too many requests")}
	}
	time.Sleep(s.respond + time.Duration(n%7)*s.respond/10) // jobs do not run in step
	return Response{Text: "yes", Usage: &money.Usage{Input: 1000, Output: 200}}, nil
}

// run lets the jobs ask one of the models, in turn, and returns how long they took.
func (s *simulated) run(t *testing.T, models ...Model) time.Duration {
	t.Helper()
	conversation := strings.Repeat("word", 1000) // about 1,000 tokens
	var all sync.WaitGroup
	for i := range s.jobs {
		m := models[i%len(models)]
		all.Go(func() {
			for range s.turns {
				if _, err := m.Stream(t.Context(), Request{System: conversation}, nil); err != nil && !s.lenient {
					t.Errorf("after %v: %v", time.Since(s.began), err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(s.began)
}

// ideal is a client that learns of a refusal in no time, and sends the next
// request exactly when the site accepts it again.
type ideal struct {
	to    *simulated
	asked int
	turn  chan struct{} // holds one; a mutex would stop the fake clock
}

// Stream implements [Model].
func (i *ideal) Stream(context.Context, Request, func(Delta)) (Response, error) {
	i.turn <- struct{}{}
	for {
		i.asked++
		after, ok := i.to.site(i.asked, time.Since(i.to.began))
		if ok {
			break
		}
		time.Sleep(max(after, 10*time.Millisecond))
	}
	<-i.turn
	i.to.mu.Lock()
	i.to.asked++
	n := i.to.asked
	i.to.mu.Unlock()
	time.Sleep(i.to.respond + time.Duration(n%7)*i.to.respond/10)
	return Response{}, nil
}

// TestRefusalWaitsForRetryAfter compares the time of simulated jobs, on a
// fake clock, with that of an ideal client.
func TestRefusalWaitsForRetryAfter(t *testing.T) {
	const ms = time.Millisecond
	eight := func(s func() site) simulation { return simulation{s, 8, 13, 400 * ms, 50 * ms} }
	tests := []struct {
		name    string
		sim     simulation
		refused float64 // most refusals, as a share of the requests
	}{
		{"no refusal", eight(denying(0)), 0},
		{"the first request", eight(denying(time.Second, 1)), 0.01},
		{"one refusal", eight(denying(time.Second, 30)), 0.01},
		{"one refusal, in milliseconds", eight(denying(300*ms, 30)), 0.01},
		{"one refusal without a wait", eight(denying(-1, 30)), 0.01},
		{"three refusals", eight(denying(time.Second, 9, 30, 60)), 0.03},
		{"ten refusals in a row", eight(denying(time.Second, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39)), 0.1},
		{"ten refusals, apart", eight(denying(time.Second, 9, 20, 29, 40, 49, 60, 69, 80, 89, 100)), 0.1},
		{"a storm of 10 s", eight(storm(time.Second, 2*time.Second, 12*time.Second)), 0.2},
		{"a storm of a minute", eight(storm(time.Second, 2*time.Second, 62*time.Second)), 0.5},
		{"a storm without waits", eight(storm(-1, 2*time.Second, 12*time.Second)), 0.2},
		{"one job, one refusal", simulation{denying(time.Second, 3), 1, 5, 400 * ms, 50 * ms}, 0.2},
		{"one job, three refusals", simulation{denying(time.Second, 3, 6, 7), 1, 5, 400 * ms, 50 * ms}, 0.6},
		{"one job, a storm of 10 s", simulation{storm(time.Second, time.Second, 11*time.Second), 1, 5, 400 * ms, 50 * ms}, 0.8},
		{"slow answers, one refusal", simulation{denying(time.Second, 10), 8, 5, 30 * time.Second, 200 * ms}, 0.05},
		{"60 per minute", simulation{bucket(60, 1, false), 8, 30, time.Second, 200 * ms}, 0.25},
		{"60 per minute, slow answers", simulation{bucket(60, 10, false), 30, 8, 20 * time.Second, 200 * ms}, 0.25},
		{"60 per minute, with bursts", simulation{bucket(60, 60, false), 8, 30, time.Second, 200 * ms}, 0.25},
		{"60 per minute, without waits", simulation{bucket(60, 10, true), 8, 30, time.Second, 200 * ms}, 0.25},
		{"600 per minute", simulation{bucket(600, 20, false), 32, 60, time.Second, 100 * ms}, 0.25},
		{"6 per minute", simulation{bucket(6, 2, false), 4, 10, 2 * time.Second, 200 * ms}, 0.4},
		{"10 in a window", simulation{window(10), 8, 20, time.Second, 200 * ms}, 0.4},
		{"100 in a window", simulation{window(100), 16, 60, time.Second, 200 * ms}, 0.1},
		{"100 jobs, 120 per minute", simulation{bucket(120, 10, false), 100, 5, 5 * time.Second, 200 * ms}, 0.3}, // 90 of them at the start
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var best, took time.Duration
			synctest.Test(t, func(t *testing.T) {
				s := test.sim.open()
				best = s.run(t, &ideal{to: s, turn: make(chan struct{}, 1)})
			})
			synctest.Test(t, func(t *testing.T) {
				s := test.sim.open()
				policy := DefaultRetryPolicy()
				policy.Rand = func() float64 { return 0.5 }
				took = s.run(t, Retrying(Limited(s, NewLimiter(limits()), nil), policy, nil))
				share := float64(s.refused) / float64(s.asked)
				t.Logf("ideal %v, took %v (%.2f), %d of %d requests refused (%.2f)", best.Round(10*ms), took.Round(10*ms), took.Seconds()/best.Seconds(), s.refused, s.asked, share)
				if share > test.refused {
					t.Errorf("%d of %d requests were refused, want at most a share of %v", s.refused, s.asked, test.refused)
				}
			})
			if took > best*3/2 {
				t.Errorf("took %v, more than 1.5 times the %v of an ideal client", took, best)
			}
		})
	}
}
