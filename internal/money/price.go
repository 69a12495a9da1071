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
	// CacheWriteLong is the share of CacheWrite that the cache keeps for an hour. It only
	// matters for the cost, which reports and recordings contain.
	CacheWriteLong int64 `json:"-"`
	// Searches are web searches that the provider made and charges for: as CacheWriteLong.
	Searches int64 `json:"-"`
	// Terms are those that the provider reports for one request and charges another
	// price for, such as "priority" or "fast us"; see prices.Percent. A sum has none.
	Terms string `json:"-"`
}

// Add returns the sum of both usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		Reasoning:  u.Reasoning + v.Reasoning,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,

		CacheWriteLong: u.CacheWriteLong + v.CacheWriteLong,
		Searches:       u.Searches + v.Searches,
	}
}

// Rates are prices per million tokens.
type Rates struct {
	Input          USD `json:"input"`
	Output         USD `json:"output"`
	CacheRead      USD `json:"cache_read"`               // charged instead of Input for these tokens
	CacheWrite     USD `json:"cache_write"`              // likewise
	CacheWriteLong USD `json:"cache_write_1h,omitempty"` // likewise, for an hour; 0 is that of CacheWrite
}

// WithCache returns the rates with those of the cache that are given; the others stay.
func (r Rates) WithCache(read, write *USD) Rates {
	if read != nil {
		r.CacheRead = *read
	}
	if write != nil {
		r.CacheWrite, r.CacheWriteLong = *write, 0
	}
	return r
}

// Price is what a model costs.
type Price struct {
	Rates
	Tiers []Tier `json:"tiers,omitempty"` // by rising From
}

// Tier replaces the prices of a request whose input is longer than From tokens.
type Tier struct {
	From int64 `json:"from"`
	Rates
}

// Positive reports whether any request costs something.
func (p Price) Positive() bool { return p.Rates != Rates{} || len(p.Tiers) > 0 }

// At returns the rates of a request with so many tokens of input.
func (p Price) At(input int64) Rates {
	r := p.Rates
	for _, t := range p.Tiers {
		if input > t.From {
			r = t.Rates
		}
	}
	return r
}

// Cost returns the cost of one request, rounded up to a nano-dollar. Negative
// counts and prices count as 0; a cost out of range is [Max].
func (p Price) Cost(u Usage) USD {
	r := p.At(u.Input)
	plain := max(u.Input, 0) - max(u.CacheRead, 0)
	plain = max(plain, 0) - max(u.CacheWrite, 0)
	var sum product
	sum.add(plain, r.Input)
	sum.add(u.CacheRead, r.CacheRead)
	long := min(max(u.CacheWriteLong, 0), max(u.CacheWrite, 0))
	sum.add(u.CacheWrite-long, r.CacheWrite)
	sum.add(long, max(r.CacheWriteLong, r.CacheWrite))
	sum.add(u.Output, r.Output)
	return sum.over(1_000_000)
}

// product is a sum of tokens times prices, in 128 bits: its terms
// can't overflow it.
type product struct{ high, low uint64 }

func (s *product) add(tokens int64, price USD) {
	high, low := bits.Mul64(uint64(max(tokens, 0)), uint64(max(price, 0)))
	var carry uint64
	s.low, carry = bits.Add64(s.low, low, 0)
	s.high += high + carry
}

// over returns the sum divided by a number, rounded up.
func (s product) over(number uint64) USD {
	low, carry := bits.Add64(s.low, number-1, 0)
	high := s.high + carry
	if high >= number {
		return Max
	}
	quotient, _ := bits.Div64(high, low, number)
	return USD(min(quotient, uint64(Max)))
}
