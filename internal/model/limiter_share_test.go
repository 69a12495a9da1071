package model

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// processes returns the model of each of n processes, which use the same key. Those on a bus
// announce rejections to each other.
func (s *simulated) processes(n int, bus bool) (models []Model) {
	limiters := make([]*Limiter, n)
	for i := range limiters {
		l := NewLimiter(limits())
		if bus {
			l.OnPause = func(d time.Duration) {
				for _, other := range limiters {
					if other != l {
						other.Pause(d)
					}
				}
			}
		}
		limiters[i] = l
		policy := DefaultRetryPolicy()
		policy.Rand = func() float64 { return 0.5 }
		models = append(models, Retrying(Limited(s, l, nil), policy, nil))
	}
	return models
}

func TestProcessesShareRejections(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name    string
		sim     simulation
		refused float64 // most rejections, as a share of those without a bus
	}{
		{"60 per minute", simulation{bucket(60, 1, false), 8, 30, time.Second, 200 * ms}, 0.7},
		{"60 per minute, slow", simulation{bucket(60, 10, false), 30, 8, 20 * time.Second, 200 * ms}, 1.3},
		{"60 per minute, without waits", simulation{bucket(60, 10, true), 8, 30, time.Second, 200 * ms}, 0.8},
		{"600 per minute", simulation{bucket(600, 20, false), 32, 60, time.Second, 100 * ms}, 0.95},
		{"10 in a window", simulation{window(10), 8, 20, time.Second, 200 * ms}, 0.8},
		{"100 in a window", simulation{window(100), 16, 60, time.Second, 200 * ms}, 0.8},
		{"a storm of 10 s", simulation{storm(time.Second, 2*time.Second, 12*time.Second), 8, 13, 400 * ms, 50 * ms}, 2},
		{"three rejections", simulation{denying(time.Second, 9, 30, 60), 8, 13, 400 * ms, 50 * ms}, 1},
		{"no rejection", simulation{denying(0), 8, 13, 400 * ms, 50 * ms}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			refused, took := map[bool]int{}, map[bool]time.Duration{}
			for _, bus := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					s := tt.sim.open()
					s.lenient = !bus
					took[bus] = s.run(t, s.processes(4, bus)...)
					refused[bus] = s.refused
					t.Logf("on a bus %v: took %v, %d of %d requests refused", bus, took[bus].Round(10*ms), s.refused, s.asked)
				})
			}
			if float64(refused[true]) > tt.refused*float64(refused[false]) {
				t.Errorf("%d requests were refused, and %d without a bus: want at most a share of %v", refused[true], refused[false], tt.refused)
			}
			if took[true] > 3*took[false] {
				t.Errorf("took %v, and %v without a bus", took[true], took[false])
			}
		})
	}
}

func TestRejectionIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, other := NewLimiter(limits()), NewLimiter(limits())
		var announced []time.Duration
		l.OnPause = func(d time.Duration) {
			announced = append(announced, d)
			l.answered() // the lock is not held
			other.Pause(d)
		}
		other.OnPause = func(d time.Duration) { t.Errorf("a pause of %v is announced again", d) }
		began := time.Now()
		_ = l.failed(began, failing(ClassRate, 2*time.Second)) // a single one
		_ = l.failed(began, failing(ClassUnavailable, -1))
		if want := []time.Duration{2 * time.Second}; !slices.Equal(announced, want) {
			t.Errorf("announced %v, want %v", announced, want)
		}
		for name, l := range map[string]*Limiter{"own": l, "other": other} {
			if l.rate.limit != 0 {
				t.Errorf("%s: a single rejection lowers the rate", name)
			}
			if _, err := Limited(&provider{}, l, nil).Stream(t.Context(), Request{}, nil); err != nil || time.Since(began) != 2*time.Second {
				t.Errorf("%s: sent after %v, %v", name, time.Since(began), err)
			}
		}
		_ = l.failed(time.Now(), failing(ClassRate, 2*time.Second))
		if l.rate.limit == 0 || other.rate.limit == 0 {
			t.Errorf("rates %v and %v after another rejection, want both lower", l.rate.limit, other.rate.limit)
		}
		_ = l.failed(began, failing(ClassRate, 2*time.Second)) // was in flight
		if len(announced) != 2 {
			t.Errorf("announced %v", announced)
		}
	})
}

func TestRejectedKeyIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := limits()
		policy.Rejected = time.Minute
		m := &named{errs: []error{&Error{Class: ClassAuth, Status: 401}}}
		limited := Limited(m, NewLimiter(policy), nil)
		for i, want := range []bool{true, true, false} {
			if _, err := limited.Stream(t.Context(), Request{}, nil); (err != nil) != want {
				t.Errorf("request %d: %v", i, err)
			}
			time.Sleep(40 * time.Second)
		}
	})
}
