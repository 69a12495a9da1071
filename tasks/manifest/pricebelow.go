package manifest

import (
	"slices"

	"github.com/millhand/millhand/internal/money"
)

// Below reports whether a price is lower than another one, for requests of any size.
func (p Price) Below(known money.Price) bool {
	sizes := []int64{0}
	for _, t := range known.Tiers {
		sizes = append(sizes, t.From+1)
	}
	for _, t := range p.Tiers {
		sizes = append(sizes, t.From+1)
	}
	return slices.ContainsFunc(sizes, func(input int64) bool {
		own, other := p.At(input), known.At(input)
		return own.Input < other.Input || own.Output < other.Output || own.CacheRead < other.CacheRead || own.CacheWrite < other.CacheWrite
	})
}
