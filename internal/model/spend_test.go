package model

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// attempts gives one answer or failure after the other, and says a text before
// each.
type attempts struct {
	says string
	with []Response
	errs []error
	made int
}

func (a *attempts) Stream(_ context.Context, _ Request, emit func(Delta)) (Response, error) {
	if emit != nil && a.says != "" {
		emit(Delta{Kind: TextDelta, Text: a.says})
	}
	a.made++
	return a.with[a.made-1], a.errs[a.made-1]
}

// perMillion charges 1 USD for a million tokens of input, and 2 for output.
func perMillion(u Usage) (float64, bool) {
	return (float64(u.Input) + 2*float64(u.Output)) / 1e6, true
}

func TestWhatFailedAttemptsCost(t *testing.T) {
	down := Fail(ClassUnavailable, errors.New("broke off"))
	req := Request{System: "0123456789abcdef"} // 4 tokens
	tests := []struct {
		name string
		says string
		told *Spend
		want *Spend
	}{
		{"never began", "", nil, nil},
		{"the last word on usage", "", &Spend{Usage: Usage{Input: 1000, Output: 500}}, &Spend{Requests: 1, Usage: Usage{Input: 1000, Output: 500}, CostUSD: new(0.002)}},
		{"the provider's own cost", "", &Spend{Usage: Usage{Input: 1000}, CostUSD: new(7.0)}, &Spend{Requests: 1, Usage: Usage{Input: 1000}, CostUSD: new(7.0)}},
		{"input alone was told", "12345678", &Spend{Usage: Usage{Input: 1000, Output: 1}, Estimated: true}, &Spend{Requests: 1, Usage: Usage{Input: 1000, Output: 2}, CostUSD: new(0.001004), Estimated: true}},
		{"more was told than came", "1", &Spend{Usage: Usage{Input: 1000, Output: 50}, Estimated: true}, &Spend{Requests: 1, Usage: Usage{Input: 1000, Output: 50}, CostUSD: new(0.0011), Estimated: true}},
		{"nothing was told", "12345", &Spend{Estimated: true}, &Spend{Requests: 1, Usage: Usage{Input: 4, Output: 2}, CostUSD: new(0.000008), Estimated: true}},
	}
	for _, test := range tests {
		m := Priced(&attempts{says: test.says, with: []Response{{Lost: test.told}}, errs: []error{down}}, perMillion)
		got, err := m.Stream(t.Context(), req, nil)
		if diff := cmp.Diff(test.want, got.Lost); diff != "" || !errors.Is(err, down) || got.CostUSD != nil {
			t.Errorf("%s: %v, cost %v (-want +got):\n%s", test.name, err, got.CostUSD, diff)
		}
	}
	unknown := Priced(&attempts{with: []Response{{Lost: &Spend{Usage: Usage{Input: 5}}}}, errs: []error{down}}, func(Usage) (float64, bool) { return 0, false })
	if got, _ := unknown.Stream(t.Context(), req, nil); got.Lost == nil || got.Lost.CostUSD != nil {
		t.Errorf("an unknown price: %+v", got.Lost)
	}
}

func lostOf(input int64, usd float64) *Spend {
	return &Spend{Requests: 1, Usage: Usage{Input: input}, CostUSD: new(usd)}
}

func impatient() RetryPolicy {
	p := DefaultRetryPolicy()
	p.Sleep = func(context.Context, time.Duration) error { return nil }
	return p
}

func TestRetriesAndFallbacksAddUpWhatTheyLose(t *testing.T) {
	down := Fail(ClassUnavailable, errors.New("broke off"))
	first := func() Model {
		return &attempts{with: []Response{{Lost: lostOf(1, 0.1)}, {}, {Lost: lostOf(2, 0.2)}, {}, {}}, errs: []error{down, down, down, down, down}}
	}
	second := func() Model {
		return &attempts{with: []Response{{Lost: lostOf(4, 0.4)}, {Text: "yes"}}, errs: []error{down, nil}}
	}
	var asked []float64
	req := Request{Again: func(lost *Spend) error {
		asked = append(asked, *lost.CostUSD)
		return nil
	}}
	chain := Fallback([]Named{{"a", Retrying(first(), impatient(), nil)}, {"b", Retrying(second(), impatient(), nil)}}, nil)
	got, err := chain.Stream(t.Context(), req, nil)
	want := Response{Text: "yes", Model: "b", Lost: &Spend{Requests: 3, Usage: Usage{Input: 7}, CostUSD: new(0.7)}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]float64{0.1, 0.1, 0.3, 0.3, 0.3, 0.7}, asked); diff != "" { // before each attempt, all that is lost so far
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestNoAttemptIsMadeWithoutMoney(t *testing.T) {
	broke := errors.New("the budget is spent")
	m := &attempts{with: []Response{{Lost: lostOf(1, 0.1)}, {Text: "too late"}}, errs: []error{Fail(ClassUnavailable, errors.New("broke off")), nil}}
	got, err := Retrying(m, impatient(), nil).Stream(t.Context(), Request{Again: func(*Spend) error { return broke }}, nil)
	if !errors.Is(err, broke) || m.made != 1 || got.Lost == nil {
		t.Errorf("%d attempts, %v, %+v", m.made, err, got)
	}
}

func TestSpendPlus(t *testing.T) {
	var nothing *Spend
	known, unknown := lostOf(1, 0.1), &Spend{Requests: 1, Estimated: true}
	if nothing.Plus(known) != known || known.Plus(nil) != known || nothing.Plus(nil) != nil {
		t.Error("nothing changes the sum")
	}
	want := &Spend{Requests: 2, Usage: Usage{Input: 1}, Estimated: true}
	if diff := cmp.Diff(want, known.Plus(unknown)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
