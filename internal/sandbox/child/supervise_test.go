//go:build linux

package child

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

func TestParseParentWithAnyProcessName(t *testing.T) {
	for stat, want := range map[string]int{
		"12 (bash) S 34 12 12 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 9 0 77 88": 34,
		"12 (bash) S 34":             34,
		"12 (a b) c) R 34 12 12":     34,
		"12 () S 1 2) S 34 12 12":    34,
		"12 (x":                      0,
		"":                           0,
		"12 (bash) S":                0,
		"12 (bash) S many 12 12 0":   0,
		"12 (\n) S 34) Z 56 12 12 0": 56,
	} {
		if got := parseParent(stat); got != want {
			t.Errorf("%q: got %d, want %d", stat, got, want)
		}
	}
}

// All threads of a user's processes count for its limit.
func TestThreadsAreCounted(t *testing.T) {
	stop, locked := make(chan struct{}), make(chan struct{})
	defer close(stop)
	const some = 20
	for range some {
		go func() {
			runtime.LockOSThread()
			locked <- struct{}{}
			<-stop
		}()
	}
	for range some {
		<-locked
	}
	if n := threads("self", os.Geteuid()); n < some || n > 10*some {
		t.Errorf("%d threads", n)
	}
	if n, all := threads("self", os.Geteuid()+1), Running(os.Geteuid()); n != 0 || all < some {
		t.Errorf("%d threads of another user, %d of all processes", n, all)
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
