// Package nightly decides how many cases of a long test are tried, and with which
// random numbers: a fixed sample for every change, many with a new seed at night.
// Only tests import it.
//
// It reads MILLHAND_NIGHTLY, which `make nightly` sets, FULL for the largest counts,
// and SEED, which repeats the cases of an earlier run.
package nightly

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// On reports whether this is the nightly run.
func On() bool { return os.Getenv("MILLHAND_NIGHTLY") != "" }

// Count returns how many cases to try: for every change, at night, and at night with
// FULL set.
func Count(always, night, full int) int {
	switch {
	case !On():
		return always
	case os.Getenv("FULL") != "":
		return full
	}
	return night
}

// Sample returns the cases of a test: every n-th with -short, from first on, otherwise
// all. Tests of the same cases begin with different ones.
func Sample[T any](cases []T, n, first int) []T {
	if !testing.Short() {
		return cases
	}
	var sample []T
	for i := first; i < len(cases); i += n {
		sample = append(sample, cases[i])
	}
	return sample
}

// Random returns the source of a test's random cases, and logs its seed: SEED if it
// is set, the time at night, otherwise always the same.
func Random(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := uint64(1)
	if given := os.Getenv("SEED"); given != "" {
		parsed, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			tb.Fatalf("read SEED: %v", err)
		}
		seed = parsed
	} else if On() {
		seed = uint64(time.Now().UnixNano()) //nolint:gosec // any 64 bits are a seed
	}
	tb.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a repeatable sequence is wanted
}
