package money

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text      string
		up, limit USD // as a cost, as a limit
	}{
		{"0", 0, 0},
		{"-0.0", 0, 0},
		{"0e99999999999999999999", 0, 0},
		{"1", Dollar, Dollar},
		{"+1.50", 1_500_000_000, 1_500_000_000},
		{".5", 500_000_000, 500_000_000},
		{"5.", 5 * Dollar, 5 * Dollar},
		{"2e-7", 200, 200},
		{"2.5E-7", 250, 250},
		{"1.5e2", 150 * Dollar, 150 * Dollar},
		{"0.000000001", 1, 1},
		{"0.0000000001", 1, 0},
		{"0.000000001001", 2, 1},
		{"0.0000000010001", 1, 1}, // noise
		{"0.30000000000000004", 300_000_000, 300_000_000},
		{"0.29999999999999999", 300_000_000, 299_999_999},
		{"1e-99999999999999999999", 0, 0},
		{"-0.0000000015", -2, -1},
		{"9223372036.854775807", Max, Max},
		{"-9223372036.854775807", -Max, -Max},
	}
	for _, tt := range tests {
		up, err := Parse(tt.text)
		limit, err2 := ParseLimit(tt.text)
		if up != tt.up || limit != tt.limit || err != nil || err2 != nil {
			t.Errorf("%s: %d, %d, %v, %v", tt.text, up, limit, err, err2)
		}
	}
	for text, want := range map[string]USD{"9223372036.854775808": Max, "1e300": Max, "-1e10": -Max, "1e99999999999999999999": Max} {
		if got, err := Parse(text); got != want || !errors.Is(err, ErrRange) {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-", ".", "e5", "1e", "1e1.5", "1,5", "0x10", "1_000", "NaN", "+Inf", "--1", "+-1", "1.2.3", " 1", "\"1\""} {
		if got, err := Parse(text); err == nil || errors.Is(err, ErrRange) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), 1e300} {
		if got, ok := FromFloat(f); ok {
			t.Errorf("%g: %d", f, got)
		}
	}
}

func TestSumsDoNotWrapAround(t *testing.T) {
	tests := []struct{ a, b, want USD }{
		{1, 2, 3}, {Max, 1, Max}, {Max, Max, Max}, {-Max, -1, -Max}, {-Max, -Max, -Max}, {Max, -Max, 0}, {Max - 1, 1, Max}, {-Max + 1, -1, -Max},
	}
	for _, tt := range tests {
		if got := tt.a.Add(tt.b); got != tt.want {
			t.Errorf("%d + %d = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := tt.a.Sub(-tt.b); got != tt.want {
			t.Errorf("%d - %d = %d, want %d", tt.a, -tt.b, got, tt.want)
		}
	}
	if Sum(nil, new(USD(1))) != nil || Sum(new(USD(1)), nil) != nil || *Sum(new(USD(1)), new(USD(2))) != 3 {
		t.Error("the sum with an unknown amount is unknown")
	}
}

func TestText(t *testing.T) {
	for usd, want := range map[USD]string{
		0: "0", 1: "0.000000001", -1: "-0.000000001", 270_000: "0.00027", 1_500_000_000: "1.5", 20 * Dollar: "20", -250 * Dollar: "-250",
		Max: "9223372036.854775807",
	} {
		if got := usd.String(); got != want {
			t.Errorf("%d: %s, want %s", usd, got, want)
		}
	}
	var got struct{ A, B *USD }
	if err := json.Unmarshal([]byte(`{"A":null,"B":1e300}`), &got); err != nil || got.A != nil || *got.B != Max {
		t.Errorf("%+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"A":"1"}`), &got); err == nil {
		t.Error("a string was accepted")
	}
}

// Reports had float64 amounts once: JSON of a USD has the same bytes, and comes
// back as the same amount.
func FuzzJSONEqualsFloat(f *testing.F) {
	for _, n := range []int64{0, 1, -1, 9, 10, 250, 999, 1000, 1001, 270_000, 333_333, 1_000_000_000, 12_345_678_900, 1 << 49, -1 << 49} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		u := USD(max(n, -int64(Max)))
		got, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var back USD
		if err := json.Unmarshal(got, &back); err != nil || back != u {
			t.Fatalf("%d became %s and %d, %v", u, got, back, err)
		}
		if back, err := Parse(u.String()); err != nil || back != u {
			t.Fatalf("%d became %s and %d, %v", u, u, back, err)
		}
		if u > -1<<49 && u < 1<<49 { // 15 digits, which a float64 holds exactly
			want, err := json.Marshal(float64(u) / 1e9)
			if err != nil || string(got) != string(want) {
				t.Fatalf("%d: %s, as a float64 %s, %v", u, got, want, err)
			}
			if back, ok := FromFloat(float64(u) / 1e9); !ok || back != u {
				t.Fatalf("%d became %d by way of a float64", u, back)
			}
		}
	})
}

// A text is read as the exact number that it is, rounded up or cut off.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"0.1", "1e-7", "0.0000000015", "-3.25e4", "9223372036.9", "1e400", "00.10"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		up, err := Parse(text)
		limit, limitErr := ParseLimit(text)
		if (err == nil) != (limitErr == nil) {
			t.Fatalf("%q: %v, %v", text, err, limitErr)
		}
		if err != nil || len(text) > 100 {
			return
		}
		if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 5 {
			return // too large for the oracle
		}
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no number, and was read as %d", text, up)
		}
		exact.Abs(exact).Mul(exact, big.NewRat(int64(Dollar), 1))
		if nanos := new(big.Rat).SetInt64(int64(max(limit, -limit))); nanos.Cmp(exact) > 0 || nanos.Add(nanos, big.NewRat(1, 1)).Cmp(exact) <= 0 {
			t.Fatalf("the limit %q is %d", text, limit)
		}
		least := new(big.Rat).Sub(exact, big.NewRat(1, 1000))
		if nanos := new(big.Rat).SetInt64(int64(max(up, -up))); nanos.Cmp(least) <= 0 || nanos.Sub(nanos, big.NewRat(1, 1)).Cmp(exact) >= 0 {
			t.Fatalf("%q costs %d", text, up)
		}
	})
}

// Amounts that are added in any order, or shared and added again, are the same.
func FuzzSumsAreExact(f *testing.F) {
	f.Add(int64(1), int64(2), int64(3), 3)
	f.Add(int64(1_000_000), int64(-7), int64(1<<40), 7)
	f.Fuzz(func(t *testing.T, a, b, c int64, n int) {
		for _, v := range []*int64{&a, &b, &c} {
			*v /= 4 // in range, where sums are exact
		}
		x, y, z := USD(a), USD(b), USD(c)
		if sum := x.Add(y).Add(z); sum != z.Add(x.Add(y)) || sum != z.Add(y).Add(x) || int64(sum) != a+b+c || sum.Sub(z).Sub(y) != x {
			t.Fatalf("%d + %d + %d = %d", x, y, z, sum)
		}
		n = n&1023 + 1
		var sum USD
		for i := range n {
			share := x.Share(i, n)
			if off := share.Sub(x / USD(n)); off < -1 || off > 1 {
				t.Fatalf("share %d of %d of %d is %d", i, n, x, share)
			}
			sum = sum.Add(share)
		}
		if sum != x {
			t.Fatalf("%d shares of %d add up to %d", n, x, sum)
		}
	})
}

func TestRounded(t *testing.T) {
	for want, usd := range map[string]USD{
		"$0.00": 0, "$1234.50": 1_234_500_000_000, "$12.35": 12_345_001_000, "$1.00": Dollar, "$0.2500": 250_000_000, "$0.0123": 12_300_000, "$0.0010": 1_000_000,
		"$0.00042": 420_000, "$0.000012": 12_300, "$0.00000010": 100, "$0.0000000010": 1, "$-0.5000": -500_000_000,
	} {
		if got := Rounded(&usd); got != want {
			t.Errorf("Rounded(%v) = %s, want %s", usd, got, want)
		}
	}
	if got := Rounded(nil); got != "unknown" {
		t.Errorf("Rounded(nil) = %s", got)
	}
}

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		usd     USD
		percent int64
		want    USD
	}{{0, 100, 0}, {Dollar, 100, Dollar}, {Dollar, 250, 2_500_000_000}, {1, 50, 1}, {3, 110, 4}, {Max, 100, Max}, {Max, 101, Max}, {Max / 2, math.MaxInt64, Max}, {Dollar, -1, 0}} {
		if got := tt.usd.Percent(tt.percent); got != tt.want {
			t.Errorf("%d %% of %d: %d, want %d", tt.percent, tt.usd, got, tt.want)
		}
	}
}
