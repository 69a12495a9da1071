package money

import "testing"

func TestAnUnknownCostMakesTheTotalALowerBound(t *testing.T) {
	var total Total
	if got := total.USD(); got == nil || *got != 0 {
		t.Errorf("nothing costs %v, want 0", got)
	}
	total.Add(new(2*Dollar), Dollar)
	if got := total.USD(); got == nil || *got != 2*Dollar || total.Least() != 2*Dollar {
		t.Errorf("got %v, at least %v; want 2 for both", got, total.Least())
	}
	other := Total{}
	other.Add(nil, Dollar)
	if other.USD() != nil || other.Least() != Dollar {
		t.Errorf("got %v, at least %v; want unknown, at least 1", other.USD(), other.Least())
	}
	if total.Plus(other); total.USD() != nil || total.Least() != 3*Dollar {
		t.Errorf("got %v, at least %v; want unknown, at least 3", total.USD(), total.Least())
	}
}
