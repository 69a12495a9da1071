package money

import (
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCost(t *testing.T) {
	million := Usage{Input: 1e6, Output: 1e6}
	price := Price{Rates: Rates{Input: Dollar, Output: 5 * Dollar, CacheRead: Dollar / 10, CacheWrite: Dollar * 5 / 4}}
	tiers := Price{Rates: Rates{Input: Dollar, Output: 2 * Dollar, CacheRead: Dollar, CacheWrite: Dollar}, Tiers: []Tier{
		{100, Rates{Input: 2 * Dollar, Output: 3 * Dollar, CacheRead: 2 * Dollar, CacheWrite: 3 * Dollar}},
		{200, Rates{Input: 4 * Dollar, Output: 5 * Dollar, CacheRead: Dollar, CacheWrite: 5 * Dollar, CacheWriteLong: 8 * Dollar}},
	}}
	tests := []struct {
		name  string
		price Price
		usage Usage
		want  USD
	}{
		{"nothing", price, Usage{}, 0},
		{"a free model", Price{}, million, 0},
		{"a million tokens each", price, million, 6 * Dollar},
		{"reasoning counts as output", price, Usage{Output: 1e6, Reasoning: 1e6}, 5 * Dollar},
		{"cached", price, Usage{Input: 3000, CacheRead: 1000, CacheWrite: 1000, Output: 100}, 2_850_000},
		{"more cached than sent", price, Usage{Input: 100, CacheRead: 1000}, 100_000},
		{"counts below 0", price, Usage{Input: -5, Output: -5, CacheRead: -5, CacheWrite: -5}, 0},
		{"a fraction of a nano-dollar is rounded up", Price{Rates: Rates{Input: 2_800_000}}, Usage{Input: 1}, 3},
		{"once for the request", Price{Rates: Rates{Input: 2_800_000, Output: 2_800_000}}, Usage{Input: 1, Output: 1}, 6},
		{"the least there is", Price{Rates: Rates{Input: 1}}, Usage{Input: 1}, 1},
		{"at the border of a tier", tiers, Usage{Input: 100}, 100_000},
		{"above it, all of the request", tiers, Usage{Input: 101, Output: 1}, 205_000},
		{"above it, written to the cache", tiers, Usage{Input: 101, CacheWrite: 100}, 302_000},
		{"above two", tiers, Usage{Input: 201, CacheWrite: 1}, 805_000},
		{"for an hour", tiers, Usage{Input: 201, CacheWrite: 100, CacheWriteLong: 50}, 404_000 + 250_000 + 400_000},
		{"for an hour, at no other price", tiers, Usage{Input: 101, CacheWrite: 100, CacheWriteLong: 100}, 302_000},
		{"longer than written", tiers, Usage{Input: 201, CacheWrite: 1, CacheWriteLong: 5}, 808_000},
		{"out of range", Price{Rates: Rates{Input: Max}}, Usage{Input: 1e9}, Max},
		{"further out of range", Price{Rates: Rates{Input: Max, Output: Max, CacheRead: Max, CacheWrite: Max}}, Usage{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, 0, ""}, Max},
	}
	for _, tt := range tests {
		if got := tt.price.Cost(tt.usage); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A cost is the exact one, rounded up to a nano-dollar: never less.
func FuzzCostRoundsUp(f *testing.F) {
	f.Add(int64(10_000), int64(1000), int64(8000), int64(0), int64(250_000_000), int64(2_000_000_000), int64(25_000_000), int64(0))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(1), int64(1), int64(math.MaxInt64), int64(math.MaxInt64), int64(1), int64(1))
	f.Fuzz(func(t *testing.T, in, out, read, write, inPrice, outPrice, readPrice, writePrice int64) {
		price := Price{Rates: Rates{Input: USD(inPrice), Output: USD(outPrice), CacheRead: USD(readPrice), CacheWrite: USD(writePrice)}}
		got := price.Cost(Usage{Input: in, Output: out, CacheRead: read, CacheWrite: write})
		number := func(n int64) *big.Int { return big.NewInt(max(n, 0)) }
		plain := number(in)
		plain.Sub(plain, number(read)).Sub(plain, number(write))
		if plain.Sign() < 0 {
			plain.SetInt64(0)
		}
		exact := plain.Mul(plain, number(inPrice))
		for _, term := range [][2]int64{{out, outPrice}, {read, readPrice}, {write, writePrice}} {
			exact.Add(exact, new(big.Int).Mul(number(term[0]), number(term[1])))
		}
		want := exact.Add(exact, big.NewInt(999_999)).Div(exact, big.NewInt(1_000_000))
		if want.Cmp(big.NewInt(int64(Max))) > 0 {
			want.SetInt64(int64(Max))
		}
		if want.Cmp(big.NewInt(int64(got))) != 0 {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}

func TestASumWithAnUnknownChargeIsUnknown(t *testing.T) {
	known := &Charge{Requests: 1, Usage: Usage{Input: 5, Output: 1}, CostUSD: new(Dollar)}
	unknown := &Charge{Requests: 2, Usage: Usage{Input: 3}, Estimated: true}
	var none *Charge
	if none.Plus(nil) != nil || none.Plus(known) != known || known.Plus(nil) != known {
		t.Error("the sum with none is the other")
	}
	want := &Charge{Requests: 2, Usage: Usage{Input: 10, Output: 2}, CostUSD: new(2 * Dollar)}
	if diff := cmp.Diff(want, known.Plus(known)); diff != "" {
		t.Error(diff)
	}
	want = &Charge{Requests: 3, Usage: Usage{Input: 8, Output: 1}, Estimated: true}
	if diff := cmp.Diff(want, known.Plus(unknown)); diff != "" {
		t.Error(diff)
	}
}
