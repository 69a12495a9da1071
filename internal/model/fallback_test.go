package model

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// named responds with its name, after the given failures.
type named struct {
	name string

	mu   sync.Mutex
	errs []error
	made int
}

func (n *named) Stream(_ context.Context, _ Request, emit func(Delta)) (Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.made++
	if emit != nil {
		emit(Delta{Kind: TextDelta, Text: n.name})
	}
	if n.made > len(n.errs) || n.errs[n.made-1] == nil {
		return Response{Text: n.name}, nil
	}
	return Response{Text: "part"}, n.errs[n.made-1]
}

func TestFallback(t *testing.T) {
	down, busy, garbled := failing(ClassUnavailable, -1), failing(ClassRate, 5), failing(ClassProtocol, -1)
	auth, long := failing(ClassAuth, -1), failing(ClassContext, -1)
	always := repeat(9, down)
	tests := []struct {
		name  string
		errs  [][]error // of the models a, b, c
		want  string    // responses in order; a failure is its class
		moves string
		asked []int // how often each model was asked
	}{
		{"the first answers", [][]error{nil, nil, nil}, "a a a", "", []int{3, 0, 0}},
		{"the first is down", [][]error{{down}, nil, nil}, "b b b", "a>b", []int{1, 3, 0}},
		{"the first rejects requests", [][]error{{busy}, nil, nil}, "b b b", "a>b", []int{1, 3, 0}},
		{"the first goes down later", [][]error{{nil, down}, nil, nil}, "a b b", "a>b", []int{2, 2, 0}},
		{"one after the other", [][]error{{nil, down}, {nil, down}, nil}, "a b c", "a>b b>c", []int{2, 2, 1}},
		{"two in one request", [][]error{{down}, {busy}, nil}, "c c c", "a>b b>c", []int{1, 1, 3}},
		{"all are down", [][]error{always, always, {busy, nil, down}}, "rate c unavailable", "a>b b>c", []int{1, 1, 3}},
		{"a rejected key is returned", [][]error{{auth}, nil, nil}, "auth a a", "", []int{3, 0, 0}},
		{"a conversation that is too long is returned", [][]error{{long}, nil, nil}, "context a a", "", []int{3, 0, 0}},
		{"an invalid response is returned", [][]error{{garbled}, nil, nil}, "protocol a a", "", []int{3, 0, 0}},
		{"an error of another kind is returned", [][]error{{errors.New("else")}, nil, nil}, " a a", "", []int{3, 0, 0}},
		{"one model alone", [][]error{{down}}, "unavailable a a", "", []int{3}},
		{"none at all", nil, "model model model", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var chain []Named
			var models []*named
			for i, errs := range test.errs {
				m := &named{name: string(rune('a' + i)), errs: errs}
				models, chain = append(models, m), append(chain, Named{m.name, m})
			}
			var moves, got []string
			f := Fallback(chain, func(from, to string, err error) {
				if !isDown(err) {
					t.Errorf("left %s because of %v", from, err)
				}
				moves = append(moves, from+">"+to)
			})
			for range 3 {
				resp, err := f.Stream(t.Context(), Request{}, nil)
				if err != nil {
					resp.Text = string(ClassOf(err))
				}
				got = append(got, resp.Text)
			}
			if s := strings.Join(got, " "); s != test.want || strings.Join(moves, " ") != test.moves {
				t.Errorf("answers %q with changes %q, want %q with %q", s, moves, test.want, test.moves)
			}
			var asked []int
			for _, m := range models {
				asked = append(asked, m.made)
			}
			if diff := cmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheLastFailureOfAChainNamesTheModels(t *testing.T) {
	f := Fallback([]Named{{"a", &named{errs: repeat(1, failing(ClassRate, -1))}}, {"b", &named{errs: repeat(1, failing(ClassUnavailable, -1))}}}, nil)
	resp, err := f.Stream(t.Context(), Request{}, nil)
	if err == nil || !strings.Contains(err.Error(), "a, b") || ClassOf(err) != ClassUnavailable || resp.Text != "" {
		t.Errorf("got %+v and %v", resp, err)
	}
}

func TestCancelledCallerDoesNotTriggerFallback(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := &named{name: "b"}
	f := Fallback([]Named{{"a", &named{errs: repeat(1, failing(ClassUnavailable, -1))}}, {"b", b}}, func(string, string, error) { t.Error("fell back") })
	if _, err := f.Stream(ctx, Request{}, nil); ClassOf(err) != ClassUnavailable || b.made != 0 {
		t.Errorf("got %v, and b was asked %d times", err, b.made)
	}
}

func TestConcurrentRequestsNotifyOnceOfAChange(t *testing.T) {
	const n = 8
	var meet sync.WaitGroup
	meet.Add(n)
	a := together{&meet}
	told := 0
	f := Fallback([]Named{{"a", a}, {"b", &named{name: "b"}}}, func(string, string, error) { told++ })
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if resp, err := f.Stream(t.Context(), Request{}, nil); err != nil || resp.Text != "b" {
				t.Errorf("got %+v and %v", resp, err)
			}
		})
	}
	all.Wait()
	if told != 1 {
		t.Errorf("notified %d times", told)
	}
}

// together fails when all have asked.
type together struct{ meet *sync.WaitGroup }

func (a together) Stream(context.Context, Request, func(Delta)) (Response, error) {
	a.meet.Done()
	a.meet.Wait()
	return Response{}, failing(ClassUnavailable, -1)
}

// The order in which the parts are put together is the wiring's; this holds what
// they owe to each other.
func TestLongRetryAfterFallsBackImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := &provider{most: 1, window: 24 * time.Hour, asks: 24 * time.Hour}
		shared := NewLimiter(limits())
		began := time.Now()
		var answered []string
		for range 3 { // sessions; the first uses the key up, the second is refused, the third is not even sent
			a := Retrying(Limited(blocked, shared, nil), DefaultRetryPolicy(), nil)
			f := Fallback([]Named{{"a", a}, {"b", &named{name: "b"}}}, nil)
			resp, err := f.Stream(t.Context(), Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			answered = append(answered, resp.Text)
		}
		if diff := cmp.Diff([]string{"yes", "b", "b"}, answered); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if d := time.Since(began); d != 0 || blocked.refused != 1 {
			t.Errorf("it took %v and %d refusals", d, blocked.refused)
		}
	})
}
