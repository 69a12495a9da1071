package model

import "context"

// Priced returns m with the cost of each response filled in: what the provider
// itself said, else what price makes of the usage. price returns false if it
// does not know.
func Priced(m Model, price func(Usage) (usd float64, ok bool)) Model {
	return priced{m, price}
}

type priced struct {
	next  Model
	price func(Usage) (float64, bool)
}

func (p priced) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	resp, err := p.next.Stream(ctx, req, emit)
	if err != nil || resp.CostUSD != nil || resp.Usage == nil {
		return resp, err
	}
	if usd, ok := p.price(*resp.Usage); ok {
		resp.CostUSD = &usd
	}
	return resp, nil
}
