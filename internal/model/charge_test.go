package model

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millhand/millhand/internal/money"
)

// attempts returns one response or failure after the other, and emits a text before
// each.
type attempts struct {
	text string
	with []Response
	errs []error
	made int
}

func (a *attempts) Stream(_ context.Context, _ Request, emit func(Delta)) (Response, error) {
	if emit != nil && a.text != "" {
		emit(Delta{Kind: TextDelta, Text: a.text})
	}
	a.made++
	return a.with[a.made-1], a.errs[a.made-1]
}

// perMillion charges 1 USD for a million tokens of input, and 2 for output.
func perMillion(u money.Usage) (money.USD, bool) {
	return money.Price{Rates: money.Rates{Input: money.Dollar, Output: 2 * money.Dollar}}.Cost(u), true
}

func TestCostOfFailedAttempts(t *testing.T) {
	down := Fail(ClassUnavailable, errors.New("broke off"))
	req := Request{System: "0123456789abcdef"} // 4 tokens
	tests := []struct {
		name string
		text string
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
		m := Priced(&attempts{text: test.text, with: []Response{{Lost: test.told}}, errs: []error{down}}, perMillion)
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
	first := &attempts{with: []Response{{Lost: lostOf(1, 0.1)}, {}, {Lost: lostOf(2, 0.2)}, {}, {}}, errs: []error{down, down, down, down, down}}
	second := &attempts{with: []Response{{Lost: lostOf(4, 0.4)}, {Text: "yes", CostUSD: costs(1)}}, errs: []error{down, nil}}
	chain := Fallback([]Named{{"a", Retrying(charging(first), impatient(), nil)}, {"b", Retrying(charging(second), impatient(), nil)}}, nil)
	var charged money.USD
	b := money.NewBudget("run budget", 0, time.Now, func(usd money.USD) { charged = usd })
	r, err := b.Reserve(t.Context(), money.Usage{}, money.Usage{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := chain.Stream(t.Context(), Request{Reservation: r}, nil)
	want := Response{Text: "yes", Model: "b", CostUSD: costs(1), Lost: &money.Charge{Requests: 3, Usage: money.Usage{Input: 7}, CostUSD: costs(0.7)}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || charged != *costs(1.7) {
		t.Errorf("%v, charged %s (-want +got):\n%s", err, charged, diff)
	}
}

// charging makes a model charge the costs that it reports.
func charging(m Model) Model {
	return Priced(m, func(money.Usage) (money.USD, bool) { return 0, false })
}

// Wherever an attempt fails, another one follows only if it is paid for beside
// what all of them have cost: the first model, its retries, and the second one.
func TestNoAttemptIsMadeWithoutMoney(t *testing.T) {
	down := Fail(ClassUnavailable, errors.New("broke off"))
	half := money.Quotes{{Schedule: money.Schedule{{Price: money.Price{Rates: money.Rates{Output: money.Dollar / 2 * 1_000_000}}}}}} // for a token
	for _, tt := range []struct {
		limit         float64 // an attempt can cost 0.5
		first, second int     // attempts
		charged       float64
		exceeded      bool
	}{
		{limit: 0.5, first: 1, charged: 0.1, exceeded: true},
		{limit: 0.6, first: 3, charged: 0.3, exceeded: true},
		{limit: 0.8, first: 5, second: 1, charged: 0.7, exceeded: true},
		{limit: 1.2, first: 5, second: 2, charged: 1.2},
	} {
		a := &attempts{with: []Response{{Lost: lostOf(1, 0.1)}, {}, {Lost: lostOf(2, 0.2)}, {}, {}}, errs: []error{down, down, down, down, down}}
		b := &attempts{with: []Response{{Lost: lostOf(4, 0.4)}, {Text: "yes", CostUSD: costs(0.5)}}, errs: []error{down, nil}}
		var sum money.USD
		budget := money.NewBudget("run budget", *costs(tt.limit), time.Now, func(usd money.USD) { sum = usd })
		r, err := budget.Session("m", half).Reserve(t.Context(), money.Usage{Output: 1}, money.Usage{})
		if err != nil {
			t.Fatal(err)
		}
		chain := Fallback([]Named{{"a", Retrying(charging(a), impatient(), nil)}, {"b", Retrying(charging(b), impatient(), nil)}}, nil)
		_, err = chain.Stream(t.Context(), Request{Reservation: r}, nil)
		r.Release()
		var exceeded *money.Exceeded
		if errors.As(err, &exceeded) != tt.exceeded || (err != nil) != tt.exceeded || a.made != tt.first || b.made != tt.second || sum != *costs(tt.charged) {
			t.Errorf("limit %g: %v after %d and %d attempts, charged %s", tt.limit, err, a.made, b.made, sum)
		}
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
