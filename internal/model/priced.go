package model

import (
	"context"

	"github.com/millhand/millhand/internal/money"
)

// Priced returns m with the cost of each response filled in: what the provider
// itself said, else what price makes of the usage. price returns false if it
// does not know. It belongs directly around a wire, because prices are those of
// single requests. It also charges what each request costs to its reservation.
//
// A request that fails when its answer has begun has a cost, too. Where the
// provider did not say how many tokens it took, they are estimated and marked
// as that.
func Priced(m Model, price func(money.Usage) (usd money.USD, ok bool)) Model {
	return priced{m, price}
}

type priced struct {
	next  Model
	price func(money.Usage) (money.USD, bool)
}

func (p priced) Stream(ctx context.Context, req Request, emit func(Delta)) (resp Response, err error) {
	defer func() { req.Charge(resp, err) }() // of unknown cost if the wire panics
	came := 0
	resp, err = p.next.Stream(ctx, req, func(d Delta) {
		came += len(d.Text)
		if emit != nil {
			emit(d)
		}
	})
	if resp.Lost != nil {
		resp.Lost = estimated(*resp.Lost, req, came)
		resp.Lost.CostUSD = p.cost(resp.Lost.CostUSD, &resp.Lost.Usage)
	}
	if err == nil {
		resp.CostUSD = p.cost(resp.CostUSD, resp.Usage)
	}
	return resp, err
}

// cost is what was said, else what the price makes of the usage.
func (p priced) cost(said *money.USD, used *money.Usage) *money.USD {
	if said != nil || used == nil {
		return said
	}
	if usd, ok := p.price(*used); ok {
		return &usd
	}
	return nil
}

// estimated returns what a failed attempt has used up, of which the provider has
// reported c. What it did not report is estimated by the request, and by how many
// bytes of the response came.
func estimated(c money.Charge, req Request, came int) *money.Charge {
	c.Requests = 1
	if !c.Estimated {
		return &c
	}
	if c.Usage.Input == 0 {
		c.Usage.Input = int64(guessTokens(req))
	}
	c.Usage.Output = max(c.Usage.Output, int64(came+3)/4)
	return &c
}

// guessTokens says about how many tokens a request takes: one for four bytes.
// The answer tells the true number.
func guessTokens(req Request) float64 {
	n := len(req.System)
	for _, m := range req.Messages {
		n += len(m.Text) + len(m.Reasoning)
		for _, c := range m.Calls {
			n += len(c.Input)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Description)
	}
	return float64(n) / 4
}
