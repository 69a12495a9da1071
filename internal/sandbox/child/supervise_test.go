//go:build linux

package child

import (
	"errors"
	"maps"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

func TestParseStatWithAnyProcessName(t *testing.T) {
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

// The start of a command is retried while fork fails with EAGAIN, up to a bound.
func TestAStartIsRetried(t *testing.T) {
	for fails, want := range map[int]int{0: 1, 1: 2, startTries - 1: startTries, startTries: startTries} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			b := startLimited(&Plan{Limits: Limits{Pids: 60, Keeper: Group}}, func() (int, error) {
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
func TestFiltersAreComplete(t *testing.T) {
	for _, s := range []Sockets{AnySocket, OwnSocket, IPSocket, UnixPairs, ProxyOnly, ""} {
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
