package event

import "github.com/millhand/millhand/internal/money"

// Totals are sums over the turns of a session, or of several ones.
type Totals struct {
	Turns   int
	Calls   int
	Denied  int
	Usage   money.Usage
	CostUSD *money.USD // nil once the cost of any turn is unknown
}

// Plus returns the sums over both.
func (t Totals) Plus(other Totals) Totals {
	return Totals{
		Turns: t.Turns + other.Turns, Calls: t.Calls + other.Calls, Denied: t.Denied + other.Denied,
		Usage: t.Usage.Add(other.Usage), CostUSD: money.Sum(t.CostUSD, other.CostUSD),
	}
}

// Add adds what a turn used; usage and cost are nil if they are unknown.
func (t *Totals) Add(used *money.Usage, cost *money.USD) {
	if used != nil {
		t.Usage = t.Usage.Add(*used)
	}
	t.CostUSD = money.Sum(t.CostUSD, cost)
}
