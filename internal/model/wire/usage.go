package wire

import (
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

// NewCharge returns a [money.Charge] with the reported usage; nil values are unknown.
func NewCharge(u *money.Usage, costUSD *money.USD, final bool) money.Charge {
	if u == nil {
		return money.Charge{Estimated: true}
	}
	return money.Charge{Usage: *u, CostUSD: costUSD, Estimated: !final}
}
