package money

import "math/bits"

// Usage counts the tokens of one request, or of several together. Input includes
// CacheRead and CacheWrite, Output includes Reasoning, whatever the provider's own
// convention is.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
}

// Add returns the sum of both usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		Reasoning:  u.Reasoning + v.Reasoning,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
	}
}

// Price is what a model costs, per million tokens.
type Price struct {
	Input      USD    `json:"input"`
	Output     USD    `json:"output"`
	CacheRead  USD    `json:"cache_read"`      // charged instead of Input for these tokens
	CacheWrite USD    `json:"cache_write"`     // likewise
	Tiers      []Tier `json:"tiers,omitempty"` // by rising From
}

// Tier replaces the prices of a request whose input is longer than From tokens.
type Tier struct {
	From      int64 `json:"from"`
	Input     USD   `json:"input"`
	Output    USD   `json:"output"`
	CacheRead USD   `json:"cache_read"`
}

// Above returns the price that holds in one of its tiers.
func (p Price) Above(t Tier) Price {
	if p.CacheWrite == p.Input { // charged as input, so it stays that
		p.CacheWrite = t.Input
	}
	p.Input, p.Output, p.CacheRead = t.Input, t.Output, t.CacheRead
	return p
}

// Cost returns the cost of one request, rounded up to a nano-dollar. Negative
// counts and prices count as 0; a cost out of range is [Max].
func (p Price) Cost(u Usage) USD {
	for _, t := range p.Tiers {
		if u.Input > t.From {
			p = p.Above(t)
		}
	}
	plain := max(u.Input, 0) - max(u.CacheRead, 0)
	plain = max(plain, 0) - max(u.CacheWrite, 0)
	var sum product
	sum.add(plain, p.Input)
	sum.add(u.CacheRead, p.CacheRead)
	sum.add(u.CacheWrite, p.CacheWrite)
	sum.add(u.Output, p.Output)
	return sum.perMillion()
}

// product is a sum of tokens times prices, in 128 bits: four terms can't
// overflow it.
type product struct{ high, low uint64 }

func (s *product) add(tokens int64, price USD) {
	high, low := bits.Mul64(uint64(max(tokens, 0)), uint64(max(price, 0)))
	var carry uint64
	s.low, carry = bits.Add64(s.low, low, 0)
	s.high += high + carry
}

// perMillion is a millionth of the sum, rounded up.
func (s product) perMillion() USD {
	const million = 1_000_000
	low, carry := bits.Add64(s.low, million-1, 0)
	high := s.high + carry
	if high >= million {
		return Max
	}
	quotient, _ := bits.Div64(high, low, million)
	return USD(min(quotient, uint64(Max)))
}
