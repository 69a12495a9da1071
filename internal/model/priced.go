package model

import "context"

// Priced returns m with the cost of each response filled in: what the provider
// itself said, else what price makes of the usage. price returns false if it
// does not know. It belongs directly around a wire, because prices are those of
// single requests.
//
// A request that fails when its answer has begun has a cost, too. Where the
// provider did not say how many tokens it took, they are estimated and marked
// as that.
func Priced(m Model, price func(Usage) (usd float64, ok bool)) Model {
	return priced{m, price}
}

type priced struct {
	next  Model
	price func(Usage) (float64, bool)
}

func (p priced) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	came := 0
	resp, err := p.next.Stream(ctx, req, func(d Delta) {
		came += len(d.Text)
		if emit != nil {
			emit(d)
		}
	})
	if resp.Lost != nil {
		resp.Lost = resp.Lost.estimated(req, came)
		resp.Lost.CostUSD = p.cost(resp.Lost.CostUSD, &resp.Lost.Usage)
	}
	if err == nil {
		resp.CostUSD = p.cost(resp.CostUSD, resp.Usage)
	}
	return resp, err
}

// cost is what was said, else what the price makes of the usage.
func (p priced) cost(said *float64, used *Usage) *float64 {
	if said != nil || used == nil {
		return said
	}
	if usd, ok := p.price(*used); ok {
		return &usd
	}
	return nil
}
