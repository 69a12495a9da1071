package model

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
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
func perMillion(u money.Usage) (money.USD, bool) {
	return money.Price{Input: money.Dollar, Output: 2 * money.Dollar}.Cost(u), true
}

func TestWhatFailedAttemptsCost(t *testing.T) {
	down := Fail(ClassUnavailable, errors.New("broke off"))
	req := Request{System: "0123456789abcdef"} // 4 tokens
	tests := []struct {
		name string
		says string
		told *money.Charge
		want *money.Charge
	}{
		{"never began", "", nil, nil},
		{"the last word on usage", "", &money.Charge{Usage: money.Usage{Input: 1000, Output: 500}}, &money.Charge{Requests: 1, Usage: money.Usage{Input: 1000, Output: 500}, CostUSD: costs(0.002)}},
		{"the provider's own cost", "", &money.Charge{Usage: money.Usage{Input: 1000}, CostUSD: costs(7.0)}, &money.Charge{Requests: 1, Usage: money.Usage{Input: 1000}, CostUSD: costs(7.0)}},
		{"input alone was told", "12345678", &money.Charge{Usage: money.Usage{Input: 1000, Output: 1}, Estimated: true}, &money.Charge{Requests: 1, Usage: money.Usage{Input: 1000, Output: 2}, CostUSD: costs(0.001004), Estimated: true}},
		{"more was told than came", "1", &money.Charge{Usage: money.Usage{Input: 1000, Output: 50}, Estimated: true}, &money.Charge{Requests: 1, Usage: money.Usage{Input: 1000, Output: 50}, CostUSD: costs(0.0011), Estimated: true}},
		{"nothing was told", "12345", &money.Charge{Estimated: true}, &money.Charge{Requests: 1, Usage: money.Usage{Input: 4, Output: 2}, CostUSD: costs(0.000008), Estimated: true}},
	}
	for _, test := range tests {
		m := Priced(&attempts{says: test.says, with: []Response{{Lost: test.told}}, errs: []error{down}}, perMillion)
		got, err := m.Stream(t.Context(), req, nil)
		if diff := cmp.Diff(test.want, got.Lost); diff != "" || !errors.Is(err, down) || got.CostUSD != nil {
			t.Errorf("%s: %v, cost %v (-want +got):\n%s", test.name, err, got.CostUSD, diff)
		}
	}
	unknown := Priced(&attempts{with: []Response{{Lost: &money.Charge{Usage: money.Usage{Input: 5}}}}, errs: []error{down}}, func(money.Usage) (money.USD, bool) { return 0, false })
	if got, _ := unknown.Stream(t.Context(), req, nil); got.Lost == nil || got.Lost.CostUSD != nil {
		t.Errorf("an unknown price: %+v", got.Lost)
	}
}

func lostOf(input int64, usd float64) *money.Charge {
	return &money.Charge{Requests: 1, Usage: money.Usage{Input: input}, CostUSD: costs(usd)}
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
	var asked []money.USD
	req := Request{Again: func(lost *money.Charge) error {
		asked = append(asked, *lost.CostUSD)
		return nil
	}}
	chain := Fallback([]Named{{"a", Retrying(first(), impatient(), nil)}, {"b", Retrying(second(), impatient(), nil)}}, nil)
	got, err := chain.Stream(t.Context(), req, nil)
	want := Response{Text: "yes", Model: "b", Lost: &money.Charge{Requests: 3, Usage: money.Usage{Input: 7}, CostUSD: costs(0.7)}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]money.USD{100_000_000, 100_000_000, 300_000_000, 300_000_000, 300_000_000, 700_000_000}, asked); diff != "" { // before each attempt, all that is lost so far
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestNoAttemptIsMadeWithoutMoney(t *testing.T) {
	broke := errors.New("the budget is spent")
	m := &attempts{with: []Response{{Lost: lostOf(1, 0.1)}, {Text: "too late"}}, errs: []error{Fail(ClassUnavailable, errors.New("broke off")), nil}}
	got, err := Retrying(m, impatient(), nil).Stream(t.Context(), Request{Again: func(*money.Charge) error { return broke }}, nil)
	if !errors.Is(err, broke) || m.made != 1 || got.Lost == nil {
		t.Errorf("%d attempts, %v, %+v", m.made, err, got)
	}
}

// costs is a known cost.
func costs(dollars float64) *money.USD {
	usd, ok := money.FromFloat(dollars)
	if !ok {
		panic("out of range")
	}
	return &usd
}
