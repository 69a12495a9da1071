//go:build linux

package child

import (
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func TestAStatFileIsReadWhateverTheProcessIsCalled(t *testing.T) {
	for stat, want := range map[string]process{
		"12 (bash) S 34 12 12 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 77 88": {34, 9},
		"12 (bash) S 34 12 12 0":     {34, 0},
		"12 (a b) c) R 34 12 12":     {34, 0},
		"12 () S 1 2) S 34 12 12":    {34, 0},
		"12 (x":                      {},
		"":                           {},
		"12 (bash) S":                {},
		"12 (bash) S many 12 12 0":   {},
		"12 (\n) S 34) Z 56 12 12 0": {56, 0},
	} {
		if got := parseStat(stat); got != want {
			t.Errorf("%q: got %v, want %v", stat, got, want)
		}
	}
}

func TestDescendants(t *testing.T) {
	all := map[int]process{1: {}, 2: {1, 1}, 7: {1, 1}, 3: {7, 2}, 4: {3, 1}, 5: {4, 3}, 6: {2, 1}, 8: {99, 1}, 9: {10, 1}, 10: {9, 1}}
	got := descendants(all, 7)
	if want := (map[int]process{3: {7, 2}, 4: {3, 1}, 5: {4, 3}}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The gate lets as many pass as there is room for, and counts no more often than
// it must.
func TestTheGateCountsWhenItMust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there, counts, told := 0, 0, 0
		g := &gate{limit: 10, left: 10, full: func() { told++ }, count: func() int {
			counts++
			return there
		}}
		passes := func(tries int) (n int) {
			for range tries {
				if g.pass() {
					n++
				}
			}
			return n
		}
		if n := passes(10); n != 10 || counts != 0 {
			t.Errorf("%d of the first 10 passed, after %d counts", n, counts)
		}
		there = 10
		if n := passes(100); n != 0 || counts != 1 || told != 1 {
			t.Errorf("%d passed without room, after %d counts; told %d times", n, counts, told)
		}
		there = 4
		if n := passes(1); n != 0 || counts != 1 {
			t.Errorf("%d passed, after %d counts, before it was time to count again", n, counts)
		}
		time.Sleep(10 * pausePerTask)
		if n := passes(6); n != 6 || counts != 2 {
			t.Errorf("%d of 6 passed, after %d counts", n, counts)
		}
		there = 12 // what was let through before a count and started after it
		if n := passes(3); n != 0 || told != 1 {
			t.Errorf("%d passed above the limit; told %d times", n, told)
		}
	})
}

// The start of a command is retried while fork fails with EAGAIN, up to a bound.
func TestAStartIsRetried(t *testing.T) {
	for fails, want := range map[int]int{0: 1, 1: 2, startTries - 1: startTries, startTries: startTries} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			b := startLimited(&Plan{Limits: Limits{Pids: 60, Keeper: Gate}}, func() (int, error) {
				if tries++; tries <= fails {
					return 0, unix.EAGAIN
				}
				return 7, nil
			})
			if failed := fails == startTries; tries != want || (b.pid == 7) == failed || errors.Is(b.err, unix.EAGAIN) != failed {
				t.Errorf("%d failures: %d tries, %+v", fails, tries, b)
			}
		})
	}
	b := startLimited(&Plan{}, func() (int, error) { return 0, unix.EPERM })
	if !errors.Is(b.err, unix.EPERM) {
		t.Errorf("got %v", b.err)
	}
}

// Every jump of the filters stays inside of them, and every path ends.
func TestFiltersAreWhole(t *testing.T) {
	for _, s := range []Sockets{AnySocket, UnixPairs, ProxyOnly, ""} {
		p := filter(s, uint32(len(s))%2)
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
