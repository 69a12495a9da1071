//go:build linux

package child

import "testing"

func TestTheParentIsReadWhateverTheProcessIsCalled(t *testing.T) {
	for stat, want := range map[string]int{
		"12 (bash) S 34 12 12 0":     34,
		"12 (a b) c) R 34 12 12":     34,
		"12 () S 1 2) S 34 12 12":    34,
		"12 (x":                      0,
		"":                           0,
		"12 (bash) S":                0,
		"12 (bash) S many 12 12 0":   0,
		"12 (\n) S 34) Z 56 12 12 0": 56,
	} {
		if got := parentOf(stat); got != want {
			t.Errorf("%q: got %d, want %d", stat, got, want)
		}
	}
}

// Every jump of the filters stays inside of them, and every path ends.
func TestFiltersAreWhole(t *testing.T) {
	for _, s := range []Sockets{AnySocket, UnixPairs, ProxyOnly, ""} {
		p := filter(s)
		if len(p) > 4096 {
			t.Errorf("%s: %d instructions", s, len(p))
		}
		for i, in := range p {
			const classMask, jumpClass, returnClass = 0x07, 0x05, 0x06
			switch in.Code & classMask {
			case jumpClass:
				if i+1+int(max(in.Jt, in.Jf)) >= len(p) {
					t.Errorf("%s: instruction %d jumps out", s, i)
				}
			case returnClass:
			default:
				if i+1 == len(p) {
					t.Errorf("%s: the end is open", s)
				}
			}
		}
	}
}
