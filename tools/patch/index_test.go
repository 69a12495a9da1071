package patch

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestIndexEqualsLinearSearch has the simple search for an oracle.
func TestIndexEqualsLinearSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	some := func(n int) []int32 {
		out := make([]int32, n)
		for i := range out {
			out[i] = r.Int32N(2)
		}
		return out
	}
	for range 20000 {
		x := index{lines: some(r.IntN(30))}
		block, start := some(1+r.IntN(6)), r.IntN(32)
		want := -1
		for i := start; i+len(block) <= len(x.lines) && want < 0; i++ {
			if slices.Equal(x.lines[i:i+len(block)], block) {
				want = i
			}
		}
		if got := x.next(start, block); got != want {
			t.Fatalf("%v from %d in %v: %d, want %d", block, start, x.lines, got, want)
		}
	}
}

func TestPassesAreIncreasinglyLenient(t *testing.T) {
	tests := []struct {
		a, b string
		from int // the first pass for which they are equal
	}{
		{"x", "x", 0},
		{"x", "x \t\r", 1},
		{"x", "x\u00a0", 1},
		{"x", "\t x", 2},
		{"“x”", `"x"`, 3},
		{"‘x’", "'x'", 3},
		{"a–b—c−d", "a-b-c-d", 3},
		{"wait…", "wait...", 3},
		{"a\u00a0b\u202fc\u3000d", "a b c d", 3},
		{"a  b", "a b", 4},
		{"X", "x", 4},
		{"é", "e\u0301", 4},
	}
	for _, tt := range tests {
		for pass, same := range passes() {
			if got, want := same(tt.a) == same(tt.b), pass >= tt.from; got != want {
				t.Errorf("%q and %q in pass %d: %v, want %v", tt.a, tt.b, pass, got, want)
			}
		}
	}
}
