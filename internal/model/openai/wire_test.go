package openai

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/model/script"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/testing/wiretest"
)

const oneTurn = `
version: 1
turns:
  - text: It is done, and done well.
    reasoning: Hm.
    calls: [{tool: bash, args: {command: "echo hello"}}]
    usage: {input: 10, output: 5, reasoning: 2, cache_read: 4, cache_write: 1}
`

// served starts a server of the one turn above whose requests suffer fault, and
// returns a model on it.
func served(tb testing.TB, fault func(int) wiretest.Fault, o Options) (model.Model, *wiretest.Server) {
	tb.Helper()
	s, err := script.Parse([]byte(oneTurn), "turn.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	server := wiretest.New(s)
	server.Fault = fault
	o.BaseURL = wiretest.Serve(tb, server)
	return New(o), server
}

func always(f wiretest.Fault) func(int) wiretest.Fault {
	return func(int) wiretest.Fault { return f }
}

// turn is the response that the script above stands for.
func turn(tb testing.TB) model.Response {
	tb.Helper()
	s, err := script.Parse([]byte(oneTurn), "turn.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	turns, err := s.Turns("")
	if err != nil {
		tb.Fatal(err)
	}
	return turns[0].Response()
}

func TestTheSameResponseInChunksOfAnySize(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 7, 64, 1000} {
		m, _ := served(t, always(wiretest.Fault{Chunk: size}), Options{})
		got, err := m.Stream(t.Context(), model.Request{}, nil)
		if diff := cmp.Diff(turn(t), got); err != nil || diff != "" {
			t.Errorf("pieces of %d: error %v (-want +got):\n%s", size, err, diff)
		}
	}
}

func TestSlowStreamIsNotAStall(t *testing.T) {
	m, _ := served(t, always(wiretest.Fault{Chunk: 100, Drip: time.Millisecond}), Options{IdleTimeout: 10 * time.Minute})
	if got, err := m.Stream(t.Context(), model.Request{}, nil); err != nil || got.Text == "" {
		t.Errorf("got %+v and error %v", got, err)
	}
}

func TestOpenConnectionAfterEndIsNotAwaited(t *testing.T) {
	withoutDone := func(b []byte) []byte { return []byte(strings.Replace(string(b), "data: [DONE]\n\n", "", 1)) }
	withoutUsage := func(b []byte) []byte {
		before, _, _ := strings.Cut(string(withoutDone(b)), `data: {"id":"chatcmpl-script","object":"chat.completion.chunk","created":0,"model":"","choices":[],`)
		return []byte(before)
	}
	tests := []struct {
		name    string
		rewrite func([]byte) []byte
		counted bool
	}{
		{"after [DONE]", nil, true},
		{"after the usage", withoutDone, true},
		{"after the finish reason", withoutUsage, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !test.counted && testing.Short() {
				t.Skip("the usage is waited for, for 10 seconds")
			}
			m, _ := served(t, always(wiretest.Fault{Hold: true, Rewrite: test.rewrite}), Options{})
			want := turn(t)
			if !test.counted {
				want.Usage = nil
			}
			got, err := m.Stream(t.Context(), model.Request{}, nil) // a wait for the socket would never end
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestProtocolFaults(t *testing.T) {
	const soon = 100 * time.Millisecond
	tests := []struct {
		name    string
		fault   wiretest.Fault
		o       Options
		class   model.ErrorClass
		message string
	}{
		{"no headers", wiretest.Fault{Silent: true}, Options{HeaderTimeout: soon}, model.ClassUnavailable, "no response within 100ms"},
		{"a stall", wiretest.Fault{Stall: 300}, Options{IdleTimeout: soon}, model.ClassUnavailable, "response stalled: no data for 100ms"},
		{"a cut in the first event", wiretest.Fault{Cut: 10}, Options{}, model.ClassUnavailable, "interrupted"},
		{"a cut between events", wiretest.Fault{Cut: 400}, Options{}, model.ClassUnavailable, "interrupted"},
		{"an early end", wiretest.Fault{Rewrite: func(b []byte) []byte { return b[:400] }}, Options{}, model.ClassProtocol, ""},
		{"a page", wiretest.Fault{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>hello"}, Options{}, model.ClassProtocol, "<html>hello"},
		{"a busy server", wiretest.Fault{Status: 503}, Options{}, model.ClassUnavailable, "Service Unavailable"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _ := served(t, wiretest.First(1, test.fault), test.o)
			_, err := m.Stream(t.Context(), model.Request{}, nil)
			if model.ClassOf(err) != test.class || !strings.Contains(err.Error(), test.message) {
				t.Fatalf("got %v, want class %s and %q", err, test.class, test.message)
			}
			got, err := m.Stream(t.Context(), model.Request{}, nil)
			if diff := cmp.Diff(turn(t), got); err != nil || diff != "" {
				t.Errorf("the next request: error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestTransientFaultsAreRetried(t *testing.T) {
	faults := []wiretest.Fault{
		{Status: 429, Header: map[string]string{"Retry-After-Ms": "1"}, Body: `{"error":{"message":"slow down"}}`},
		{Cut: 300},
		{Status: 200, Body: "{}"},
	}
	m, server := served(t, func(n int) wiretest.Fault {
		if n < len(faults) {
			return faults[n]
		}
		return wiretest.Fault{}
	}, Options{})
	policy := model.DefaultRetryPolicy()
	policy.Sleep = func(context.Context, time.Duration) error { return nil }
	var classes []model.ErrorClass
	m = model.Retrying(m, policy, func(_ int, _ time.Duration, err error) { classes = append(classes, model.ClassOf(err)) })
	got, err := m.Stream(t.Context(), model.Request{}, nil)
	wanted := turn(t)
	wanted.Lost = &money.Charge{Estimated: true} // of the response that was cut
	if diff := cmp.Diff(wanted, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	want := []model.ErrorClass{model.ClassRate, model.ClassUnavailable, model.ClassProtocol}
	if diff := cmp.Diff(want, classes); diff != "" || server.Served() != 4 {
		t.Errorf("%d requests were served, retries (-want +got):\n%s", server.Served(), diff)
	}
}

func TestTheCallersContextEndsARequest(t *testing.T) {
	reason := errors.New("the run is over")
	tests := map[string]wiretest.Fault{
		"before the headers": {Silent: true},
		"in the stream":      {Stall: 300},
	}
	for name, fault := range tests {
		t.Run(name, func(t *testing.T) {
			m, server := served(t, always(fault), Options{})
			ctx, cancel := context.WithCancelCause(t.Context())
			failed := make(chan error)
			go func() {
				_, err := m.Stream(ctx, model.Request{}, nil)
				failed <- err
			}()
			until(t, func() bool { return server.Served() == 1 })
			cancel(reason)
			if err := <-failed; !errors.Is(err, reason) || model.ClassOf(err) != "" {
				t.Errorf("got %v, want the cause alone", err)
			}
		})
	}
	t.Run("at once", func(t *testing.T) {
		m, server := served(t, nil, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.Stream(ctx, model.Request{}, nil); !errors.Is(err, context.Canceled) || server.Served() != 0 {
			t.Errorf("got %v after %d requests", err, server.Served())
		}
	})
	t.Run("by its deadline", func(t *testing.T) {
		m, _ := served(t, always(wiretest.Fault{Stall: 300}), Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := m.Stream(ctx, model.Request{}, nil); !errors.Is(err, context.DeadlineExceeded) || model.ClassOf(err) != "" {
			t.Errorf("got %v, want the deadline alone", err)
		}
	})
}

// until waits for a state that is sure to come.
func until(t *testing.T, reached func() bool) {
	t.Helper()
	for range 60_000 {
		if reached() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the state did not come in 5 minutes")
}

func TestModelIsSafeForConcurrentUse(t *testing.T) {
	m, server := served(t, nil, Options{Model: "m"})
	want := turn(t)
	want.Served = "m"
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 8 {
				got, err := m.Stream(t.Context(), model.Request{Tools: sample.Tools}, nil)
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("error %v (-want +got):\n%s", err, diff)
				}
			}
		})
	}
	all.Wait()
	if u := server.Usage(); server.Served() != 128 || u.Input != 1280 {
		t.Errorf("served %d requests, usage %+v", server.Served(), u)
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var fresh atomic.Int32
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		fresh.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	defer transport.CloseIdleConnections()
	m, _ := served(t, nil, Options{HTTPClient: &http.Client{Transport: transport}})
	for range 5 {
		if _, err := m.Stream(t.Context(), model.Request{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	// A machine that is slow enough may lose one to the bound on waiting.
	if n := fresh.Load(); n >= 5 {
		t.Errorf("5 requests one after the other took %d connections", n)
	}
}

// TestEveryRequestIsIndependent runs requests that end in every way and waits for
// the goroutines to be as few as before.
func TestEveryRequestIsIndependent(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("requests", func(t *testing.T) {
		for _, fault := range []wiretest.Fault{{}, {Hold: true}, {Cut: 300}, {Stall: 300}, {Silent: true}, {Status: 500, Body: "no"}, {Status: 200, Body: "{}"}, {Chunk: 1}} {
			transport := &http.Transport{}
			m, _ := served(t, always(fault), Options{
				HTTPClient:    &http.Client{Transport: transport},
				HeaderTimeout: 50 * time.Millisecond, IdleTimeout: 50 * time.Millisecond,
			})
			_, _ = m.Stream(t.Context(), model.Request{}, nil) // how it ends is tested above
			ctx, cancel := context.WithCancel(t.Context())
			_, _ = m.Stream(ctx, model.Request{}, func(model.Delta) { cancel() })
			cancel()
			transport.CloseIdleConnections()
		}
	})
	until(t, func() bool { return runtime.NumGoroutine() <= before })
}
