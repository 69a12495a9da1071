package model

import (
	"context"

	"github.com/millhand/millhand/internal/money"
)

// Priced returns m with the cost of each response set: what the provider reported,
// else what price returns for the usage; price returns false if that is unknown. It
// belongs directly around a wire, because prices are those of single requests. It also charges what each request costs to its reservation.
//
// A request that fails after its response started has a cost, too. Tokens that the
// provider did not report are estimated, and marked as such.
func Priced(m Model, price func(money.Usage) (usd money.USD, ok bool)) Model {
	return priced{m, price}
}

type priced struct {
	next  Model
	price func(money.Usage) (money.USD, bool)
}

func (p priced) Stream(ctx context.Context, req Request, emit func(Delta)) (resp Response, err error) {
	defer func() { req.Charge(resp, err) }() // of unknown cost if the wire panics
	received := 0
	resp, err = p.next.Stream(ctx, req, func(d Delta) {
		received += len(d.Text)
		if emit != nil {
			emit(d)
		}
	})
	if resp.Lost != nil {
		resp.Lost = estimated(*resp.Lost, req, received)
		resp.Lost.CostUSD = p.cost(resp.Lost.CostUSD, &resp.Lost.Usage)
	}
	if err == nil {
		resp.CostUSD = p.cost(resp.CostUSD, resp.Usage)
	}
	return resp, err
}

// cost is the reported cost, else what the price makes of the usage.
func (p priced) cost(reported *money.USD, used *money.Usage) *money.USD {
	if reported != nil || used == nil {
		return reported
	}
	if usd, ok := p.price(*used); ok {
		return &usd
	}
	return nil
}

// estimated returns what a failed attempt used, of which the provider reported c.
// The rest is estimated from the request, and from the number of bytes that were
// received.
func estimated(c money.Charge, req Request, received int) *money.Charge {
	c.Requests = 1
	if !c.Estimated {
		return &c
	}
	if c.Usage.Input == 0 {
		c.Usage.Input = int64(guessTokens(req))
	}
	c.Usage.Output = max(c.Usage.Output, int64(received+3)/4)
	return &c
}

// guessTokens estimates the tokens of a request: one for four bytes. The response
// has the true number.
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
