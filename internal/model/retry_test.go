package model

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// countingModel is a model that gives one response after the other: an error, or nil
// for a response. It counts.
type countingModel struct {
	errs []error
	made int
}

func (a *countingModel) Stream(_ context.Context, _ Request, emit func(Delta)) (Response, error) {
	err := a.errs[a.made]
	a.made++
	emit(Delta{Kind: TextDelta, Text: "x"})
	if err != nil {
		return Response{Text: "part"}, err
	}
	return Response{Text: "whole"}, nil
}

func failing(class ErrorClass, after time.Duration) error {
	return &Error{Class: class, RetryAfter: after, Err: errors.New("no luck")}
}

// patient is the default policy without chance and without waiting. It notes
// the waits.
func patient(waits *[]time.Duration) RetryPolicy {
	p := DefaultRetryPolicy()
	p.Rand = func() float64 { return 1 }
	p.Sleep = func(_ context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return nil
	}
	return p
}

func repeat(n int, err error) []error {
	var list []error
	for range n {
		list = append(list, err)
	}
	return list
}

func TestRetrying(t *testing.T) {
	const half, second = 500 * time.Millisecond, time.Second
	rate := func(after time.Duration) error { return failing(ClassRate, after) }
	down, garbled := failing(ClassUnavailable, -1), failing(ClassProtocol, -1)
	tests := []struct {
		name   string
		errs   []error
		change func(*RetryPolicy)
		waits  []time.Duration
		class  ErrorClass // of the failure that stands
	}{
		{"an answer at once", []error{nil}, nil, nil, ""},
		{"a failure that passes", []error{down, nil}, nil, []time.Duration{half}, ""},
		{"waits double", append(repeat(4, down), nil), nil, []time.Duration{half, second, 2 * second, 4 * second}, ""},
		{"the retries are used up", repeat(5, down), nil, []time.Duration{half, second, 2 * second, 4 * second}, ClassUnavailable},
		{"waits grow to a bound", append(repeat(9, down), nil), func(p *RetryPolicy) { p.Retries = 9 }, []time.Duration{half, second, 2 * second, 4 * second, 8 * second, 16 * second, 30 * second, 30 * second, 30 * second}, ""},
		{"asked for a wait", []error{rate(7 * second), nil}, nil, []time.Duration{7*second + half}, ""},
		{"asked for a short wait", []error{rate(second), nil}, nil, []time.Duration{second + second/4}, ""},
		{"asked for a wait more often than there are retries", append(repeat(6, rate(4*second)), nil), nil, []time.Duration{4*second + half, 5 * second, 5 * second, 5 * second, 5 * second, 5 * second}, ""},
		{"asked for a wait for too long", repeat(8, rate(4*second)), nil, []time.Duration{4*second + half, 5 * second, 5 * second, 5 * second, 5 * second, 5 * second, 5 * second}, ClassRate},
		{"a fault with a wait", append(repeat(5, failing(ClassUnavailable, 4*second)), nil), nil, []time.Duration{4*second + half, 5 * second, 5 * second, 5 * second, 5 * second}, ""},
		{"asked for no wait", []error{rate(0), nil}, nil, []time.Duration{half}, ""},
		{"asked for as much as is granted", []error{rate(120 * second), nil}, nil, []time.Duration{120*second + half}, ""},
		{"asked for too much", []error{rate(121 * second)}, nil, nil, ClassRate},
		{"asked for the end of time", []error{rate(1<<63 - 1)}, nil, nil, ClassRate},
		{"waited for too long in all", repeat(4, rate(100*second)), nil, []time.Duration{100*second + half, 101 * second}, ClassRate},
		{"a garbled answer, twice", []error{garbled, garbled, nil}, nil, []time.Duration{half, second}, ""},
		{"a garbled answer, too often", repeat(3, garbled), nil, []time.Duration{half, second}, ClassProtocol},
		{"garbled ones among others", []error{garbled, down, garbled, garbled}, nil, []time.Duration{half, second, 2 * second}, ClassProtocol},
		{"a fatal failure", []error{failing(ClassAuth, -1)}, nil, nil, ClassAuth},
		{"a fatal failure later", []error{down, failing(ClassQuota, -1)}, nil, []time.Duration{half}, ClassQuota},
		{"a context that is too long", []error{failing(ClassContext, -1)}, nil, nil, ClassContext},
		{"a zero policy", []error{down}, func(p *RetryPolicy) { *p = RetryPolicy{Rand: p.Rand} }, nil, ClassUnavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var waits, told []time.Duration
			policy := patient(&waits)
			if test.change != nil {
				test.change(&policy)
			}
			m := &countingModel{errs: test.errs}
			deltas, restarts := 0, 0
			resp, err := Retrying(m, policy, func(attempt int, wait time.Duration, err error) {
				if attempt != m.made || !errors.Is(err, test.errs[attempt-1]) {
					t.Errorf("told of attempt %d and %v after %d attempts", attempt, err, m.made)
				}
				told = append(told, wait)
			}).Stream(t.Context(), Request{}, func(d Delta) {
				if d.Kind == AgainDelta {
					restarts++
				} else {
					deltas++
				}
			})
			if ClassOf(err) != test.class || (err == nil) != (resp.Text == "whole") || err != nil && resp.Text != "" {
				t.Errorf("got %+v and error %v, want class %q", resp, err, test.class)
			}
			if diff := cmp.Diff(test.waits, waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(waits, told); diff != "" {
				t.Errorf("told (-waited +told):\n%s", diff)
			}
			if m.made != len(test.waits)+1 || deltas != m.made || restarts != m.made-1 {
				t.Errorf("%d attempts with %d deltas and %d restarts, want %d", m.made, deltas, restarts, len(test.waits)+1)
			}
		})
	}
}

func TestFailureHasNumberOfAttempts(t *testing.T) {
	var waits []time.Duration
	_, err := Retrying(&countingModel{errs: repeat(5, failing(ClassUnavailable, -1))}, patient(&waits), nil).Stream(t.Context(), Request{}, func(Delta) {})
	if !strings.Contains(err.Error(), "5 attempts") || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("error %q does not tell the attempts and the cause", err)
	}
}

func TestBackoffHasJitter(t *testing.T) {
	p := DefaultRetryPolicy()
	for range 1000 {
		for retry := range 10 {
			if d := p.backoff(retry); d < 0 || d > p.Longest {
				t.Fatalf("retry %d waits for %v", retry, d)
			}
		}
	}
	p.Rand = func() float64 { return 0.25 }
	if d := p.backoff(1); d != 250*time.Millisecond {
		t.Errorf("a quarter of the second ceiling is %v", d)
	}
	if d := p.backoff(1 << 20); d != p.Longest/4 {
		t.Errorf("a quarter of the last ceiling is %v", d)
	}
}

func TestCancelDuringBackoffEndsRequest(t *testing.T) {
	reason := errors.New("run cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	policy := DefaultRetryPolicy() // with its real sleep
	policy.First, policy.Longest = time.Hour, time.Hour
	policy.Total = 10 * time.Hour
	m := &countingModel{errs: repeat(2, failing(ClassUnavailable, -1))}
	_, err := Retrying(m, policy, func(int, time.Duration, error) { cancel(reason) }).Stream(ctx, Request{}, func(Delta) {})
	if !errors.Is(err, reason) || ClassOf(err) != "" || m.made != 1 {
		t.Errorf("got %v after %d attempts, want the cause alone after one", err, m.made)
	}
	if !strings.Contains(err.Error(), "no luck") {
		t.Errorf("error %q does not tell the failure before it", err)
	}
}

func TestTheRealSleepEnds(t *testing.T) {
	if err := DefaultRetryPolicy().Sleep(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
}

func TestAnErrorOfAnotherKindIsNotRetried(t *testing.T) {
	var waits []time.Duration
	m := &countingModel{errs: []error{context.Canceled}}
	_, err := Retrying(m, patient(&waits), nil).Stream(t.Context(), Request{}, func(Delta) {})
	if !errors.Is(err, context.Canceled) || m.made != 1 {
		t.Errorf("got %v after %d attempts", err, m.made)
	}
}

func TestCancelledRequestEmitsNoRetry(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &countingModel{errs: repeat(2, failing(ClassUnavailable, -1))}
	_, err := Retrying(m, DefaultRetryPolicy(), func(int, time.Duration, error) { t.Error("told of a retry") }).Stream(ctx, Request{}, func(Delta) {})
	if !errors.Is(err, context.Canceled) || m.made != 1 {
		t.Errorf("got %v after %d attempts", err, m.made)
	}
}

func TestFailureHasRetryAfter(t *testing.T) {
	var waits []time.Duration
	_, err := Retrying(&countingModel{errs: repeat(1, failing(ClassRate, time.Hour))}, patient(&waits), nil).Stream(t.Context(), Request{}, func(Delta) {})
	const want = "no luck; the provider requested a retry after 1h0m0s, and the longest wait is 2m0s"
	if err == nil || !strings.HasSuffix(err.Error(), want) || ClassOf(err) != ClassRate {
		t.Errorf("got %v, want ... %s", err, want)
	}
}
