package model

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// work lets so many jobs make turns each at the provider, some of them in parallel, and returns
// the errors by job, and how long their time limits were paused in all.
func (f *flaky) work(t *testing.T, jobs, parallel, turns int, wait time.Duration) (failed map[string]error, paused time.Duration, notices int) {
	t.Helper()
	f.began = time.Now()
	failed = map[string]error{}
	l, g := NewLimiter(limits()), NewGate(time.Now)
	queue := make(chan int, jobs)
	for i := range jobs {
		queue <- i
	}
	close(queue)
	var all sync.WaitGroup
	var mu sync.Mutex
	for range parallel {
		all.Go(func() {
			for i := range queue {
				name := fmt.Sprint(i)
				o := Outage{Job: name, Wait: wait, Notify: func(h Held) {
					mu.Lock()
					defer mu.Unlock()
					if h.Waited == 0 {
						notices++
					}
				}, Pause: func() func() {
					from := time.Now()
					return func() {
						mu.Lock()
						defer mu.Unlock()
						paused += time.Since(from)
					}
				}}
				policy := waiting(wait)
				policy.Pause, policy.Rand = o.Pause, func() float64 { return 0.5 }
				m := Retrying(Gated(Limited(f, l, nil), g, o), policy, nil)
				for range turns {
					if _, err := m.Stream(t.Context(), Request{CacheKey: name}, nil); err != nil {
						mu.Lock()
						failed[name] = err
						mu.Unlock()
						break
					}
				}
			}
		})
	}
	all.Wait()
	if len(g.failures) > parallel+1 || g.waiting != 0 {
		t.Errorf("the gate holds %d failures and %d requests at the end", len(g.failures), g.waiting)
	}
	return failed, paused, notices
}

// Outages of a run of 60 jobs, 4 in parallel, on a fake clock.
func TestOutagesAreWaitedOut(t *testing.T) {
	const from = 20 * time.Second
	busy := &Error{Class: ClassRate, Status: 429, RetryAfter: -1, Err: errors.New("busy")}
	dated := &Error{Class: ClassUnavailable, Status: 503, RetryAfter: 2 * time.Second, Err: errors.New("restarting")}
	for _, test := range []struct {
		name string
		jobs int
		down time.Duration
		err  error
		most int // requests during the outage
	}{
		{"20 s of 503", 4, 20 * time.Second, answered(503), 4 + 5},
		{"60 s of 503", 4, time.Minute, answered(503), 4 + 7},
		{"10 min of 503", 4, 10 * time.Minute, answered(503), 4 + 4 + 40},
		{"60 s of refused connections", 4, time.Minute, refusedConnection(), 4 + 7},
		{"60 s of 429 without a date", 4, time.Minute, busy, 4 + 7},
		{"60 s of 503 with a date", 4, time.Minute, dated, 4 * 31},
		{"10 min of refused connections, 16 in parallel", 16, 10 * time.Minute, refusedConnection(), 16 + 4 + 40},
		{"60 s of 503, one job at a time", 1, time.Minute, answered(503), 60},
		{"10 min of refused connections, one job at a time", 1, 10 * time.Minute, refusedConnection(), 120},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &flaky{fails: outage(from, from+test.down, test.err), respond: 2 * time.Second}
				failed, paused, notices := f.work(t, 60, test.jobs, 3, 15*time.Minute)
				took := time.Since(f.began)
				during := f.between(from, from+test.down)
				t.Logf("%d requests during the outage, %v in all, paused for %v, %d notices", during, took, paused, notices)
				if len(failed) > 0 {
					t.Errorf("%d jobs failed, such as %v", len(failed), failed)
				}
				if during > test.most {
					t.Errorf("%d requests during the outage, want at most %d", during, test.most)
				}
				if ideal := time.Duration(60*3/test.jobs+1) * f.respond; took > ideal+test.down+35*time.Second {
					t.Errorf("took %v", took)
				}
				if most := int(test.down/time.Minute) + 1; notices > most {
					t.Errorf("%d notices, want at most %d", notices, most)
				}
				if paused < test.down/2 {
					t.Errorf("time limits were paused for %v", paused)
				}
			})
		})
	}
}

// While the gate is closed, two requests are a probe interval apart.
func TestProbesAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{fails: outage(0, 2*time.Minute, answered(502)), respond: time.Second}
		if failed, _, _ := f.work(t, 16, 8, 1, 15*time.Minute); len(failed) > 0 {
			t.Errorf("%v", failed)
		}
		want := []time.Duration{1, 2, 4, 8, 15, 15, 15, 15, 15, 15}
		last := time.Duration(0)
		var gaps []time.Duration
		for _, at := range f.asked[8 : 8+len(want)] {
			gaps = append(gaps, ((at - last).Round(time.Second))/time.Second)
			last = at
		}
		if !slices.Equal(gaps, want) {
			t.Errorf("probes after %v, want %v", gaps, want)
		}
	})
}

func TestAlternatingFailuresPass(t *testing.T) {
	for name, fails := range map[string]func(string, int, time.Duration) error{
		"every second request": func(_ string, n int, _ time.Duration) error {
			if n%2 == 1 {
				return answered(503)
			}
			return nil
		},
		"half of the requests": func(string, int, time.Duration) error {
			if rand.IntN(2) == 0 { //nolint:gosec // which requests fail may differ; no secret depends on it
				return answered(503)
			}
			return nil
		},
	} {
		for _, parallel := range []int{1, 4, 16} {
			synctest.Test(t, func(t *testing.T) {
				f := &flaky{fails: fails, respond: time.Second}
				if failed, _, _ := f.work(t, 60, parallel, 3, 15*time.Minute); len(failed) > 0 {
					t.Errorf("%s, %d in parallel: %v", name, parallel, failed)
				}
				t.Logf("%s, %d in parallel: %d requests in %v", name, parallel, len(f.asked), time.Since(f.began))
			})
		}
	}
}

// A request that alone fails ends soon, and stops nobody.
func TestPoisonRequestClosesNothing(t *testing.T) {
	for _, poison := range [][]string{{"7"}, {"7", "8"}} {
		synctest.Test(t, func(t *testing.T) {
			perJob := map[string]int{}
			f := &flaky{respond: time.Second, fails: func(job string, _ int, _ time.Duration) error {
				perJob[job]++
				if slices.Contains(poison, job) {
					return answered(500)
				}
				return nil
			}}
			failed, paused, _ := f.work(t, 60, 4, 3, 15*time.Minute)
			for _, job := range poison {
				if ClassOf(failed[job]) != ClassUnavailable || perJob[job] > 12 {
					t.Errorf("job %s: %d requests, %v", job, perJob[job], failed[job])
				}
			}
			if took := time.Since(f.began); len(failed) != len(poison) || took > 2*time.Minute {
				t.Errorf("%d jobs failed in %v", len(failed), took)
			}
			if len(poison) == 1 && paused > 30*time.Second { // its own retries
				t.Errorf("jobs waited for %v", paused)
			}
		})
	}
}

// After the longest wait everything fails, except probes, until the provider is back.
func TestOutagesAreNotWaitedForForever(t *testing.T) {
	for _, parallel := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			f := &flaky{fails: outage(0, 2*time.Hour, answered(503)), respond: time.Second}
			failed, _, _ := f.work(t, 4, parallel, 1, 15*time.Minute)
			took := time.Since(f.began)
			if most := 15 * time.Minute * time.Duration(4/parallel); len(failed) != 4 || took > most+time.Minute || took < 14*time.Minute {
				t.Errorf("%d jobs failed in %v", len(failed), took)
			}
			for _, err := range failed {
				if ClassOf(err) != ClassUnavailable || !strings.Contains(err.Error(), "down") {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{fails: outage(0, 20*time.Minute, answered(503)), respond: time.Second}
		failed, _, _ := f.work(t, 60, 4, 1, 15*time.Minute)
		if len(failed) != 60 || time.Since(f.began) > 16*time.Minute {
			t.Errorf("%d jobs failed in %v, want the rest of them immediately", len(failed), time.Since(f.began))
		}
	})
}

// Several sessions of one job are one job.
func TestOneJobClosesNothing(t *testing.T) {
	g := NewGate(time.Now)
	for range 9 {
		_, _ = Gated(&named{errs: repeat(1, answered(503))}, g, Outage{Job: "a", Wait: time.Hour}).Stream(t.Context(), Request{}, nil)
	}
	if g.opened != nil {
		t.Error("the gate is closed")
	}
}
