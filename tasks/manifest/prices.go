package manifest

import (
	"slices"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks/form"
)

// Price is the price of a model in a manifest.
type Price struct {
	Value form.Value
	money.Price
	Model string
	tiers []tier
}

var pricesForm = form.MapOf("MODEL", form.TypeOf((*Price).keys), readPrices)

// readPrices reads prices of models.
func readPrices(v form.Value) ([]Price, bool) {
	var all []Price
	entries, ok := v.Entries()
	for _, e := range entries {
		p := Price{Value: e, Model: e.Key.Value}
		got := p.keys().Read(e)
		given := p.Rates
		p.Rates = prices.Rates(p.Model, p.Input, p.Output)
		if _, ok := got["cache_read"]; ok {
			p.CacheRead = given.CacheRead
		}
		if _, ok := got["cache_write"]; ok {
			p.Rates = p.WithCache(nil, &given.CacheWrite)
		}
		p.Tiers = filledTiers(p.Model, p.tiers)
		all = append(all, p)
	}
	return all, ok
}

func (p *Price) keys() form.Table {
	return form.Table{
		{Name: "input", Field: form.Required("input: 0.25", form.Into(&p.Input, form.Price)), Doc: "Price of input tokens"},
		{Name: "output", Field: form.Required("output: 2.00", form.Into(&p.Output, form.Price)), Doc: "Price of output tokens"},
		{Name: "cache_read", Field: form.Into(&p.CacheRead, form.Price), Doc: cacheReadDoc},
		{Name: "cache_write", Field: form.Into(&p.CacheWrite, form.Price), Doc: cacheWriteDoc},
		{Name: "tiers", Field: form.Into(&p.tiers, tiersForm), Doc: tiersDoc},
	}
}

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
