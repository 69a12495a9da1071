package wire

import (
	"encoding/json"
	"strings"

	"github.com/millhand/millhand/internal/money"
)

// MaxTokens is far above any real count and far below an overflow.
const MaxTokens = 1 << 40

// Plausible reports whether u can be the usage of a request. No request uses zero
// input and output tokens.
func Plausible(u money.Usage) bool {
	for _, n := range []int64{u.Input, u.Output, u.Reasoning, u.CacheRead, u.CacheWrite, u.CacheWriteLong, u.Searches} {
		if n < 0 || n > MaxTokens {
			return false
		}
	}
	return u.Input > 0 || u.Output > 0
}

// Count reads a count from its JSON, which may be a number or a string with one; ok is false for
// anything else. The SDKs also read true as 1, and false and strings like "4.0" as a reported 0.
// Counts out of range become implausible ones.
func Count(raw string) (n int64, ok bool) {
	var f *float64
	if json.Unmarshal([]byte(strings.Trim(raw, `"`)), &f) != nil || f == nil {
		return 0, false
	}
	return int64(max(-1, min(*f, MaxTokens+1))), true
}

// Detail is [Count] for counts that servers may leave out: 0 without one.
func Detail(raw string) int64 {
	n, _ := Count(raw)
	return n
}

// NewCharge returns a [money.Charge] with the reported usage; nil values are unknown.
func NewCharge(u *money.Usage, costUSD *money.USD, final bool) money.Charge {
	if u == nil {
		return money.Charge{Estimated: true}
	}
	return money.Charge{Usage: *u, CostUSD: costUSD, Estimated: !final}
}
