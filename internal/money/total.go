package money

// Total is a sum of costs of which some may be unknown. The zero value is a known sum of nothing.
type Total struct {
	least   USD
	unknown bool
}

// Add adds a cost. One that is unknown (nil) is at least an amount.
func (t *Total) Add(cost *USD, least USD) {
	if cost == nil {
		t.unknown, t.least = true, t.least.Add(least)
		return
	}
	t.least = t.least.Add(*cost)
}

// Plus adds another sum.
func (t *Total) Plus(other Total) {
	t.unknown, t.least = t.unknown || other.unknown, t.least.Add(other.least)
}

// USD returns the sum; nil if any cost is unknown.
func (t Total) USD() *USD {
	if t.unknown {
		return nil
	}
	return new(t.least)
}

// Least returns the sum if all costs are known, otherwise a lower bound.
func (t Total) Least() USD { return t.least }

// Sum returns the [Total] of costs; nil if any is unknown.
func Sum(costs ...*USD) *USD {
	var sum Total
	for _, cost := range costs {
		sum.Add(cost, 0)
	}
	return sum.USD()
}
