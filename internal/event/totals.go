package event

import "github.com/millhand/millhand/internal/money"

// Totals are sums over the turns of a session, or of several ones.
type Totals struct {
	Turns  int
	Calls  int
	Denied int
	Usage  money.Usage
	Cost   money.Total
}

// Plus returns the sums over both.
func (t Totals) Plus(other Totals) Totals {
	t.Turns, t.Calls, t.Denied = t.Turns+other.Turns, t.Calls+other.Calls, t.Denied+other.Denied
	t.Usage = t.Usage.Add(other.Usage)
	t.Cost.Plus(other.Cost)
	return t
}

// Add adds what a turn used; usage and cost are nil if they are unknown.
func (t *Totals) Add(used *money.Usage, cost *money.USD) {
	if used != nil {
		t.Usage = t.Usage.Add(*used)
	}
	t.Cost.Add(cost, 0)
}

// AtMost returns what a turn counts for budgets: its cost, and while that is unknown as much as was reserved for its
// request, or the estimate of the request's input. End is nil for a turn that did not end.
func AtMost(start Turn, end *Turn) money.USD {
	switch {
	case end != nil && end.CostUSD != nil:
		return *end.CostUSD
	case start.Reserved != nil:
		return *start.Reserved
	case start.Request != nil && start.Request.CostUSD != nil:
		return *start.Request.CostUSD
	}
	return 0
}
