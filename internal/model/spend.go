package model

import "math"

// Spend is what attempts used up that gave no answer.
type Spend struct {
	Requests  int      `json:"requests"`
	Usage     Usage    `json:"usage"`
	CostUSD   *float64 `json:"cost_usd,omitempty"`  // nil when unknown
	Estimated bool     `json:"estimated,omitempty"` // of some of it the provider did not say how many tokens it was
}

// Plus returns the sum; nil is nothing. The sum with an unknown cost is unknown.
func (s *Spend) Plus(t *Spend) *Spend {
	switch {
	case s == nil:
		return t
	case t == nil:
		return s
	}
	sum := Spend{Requests: s.Requests + t.Requests, Usage: s.Usage.plus(t.Usage), Estimated: s.Estimated || t.Estimated}
	if s.CostUSD != nil && t.CostUSD != nil {
		usd := math.Round((*s.CostUSD+*t.CostUSD)*1e12) / 1e12
		sum.CostUSD = &usd
	}
	return &sum
}

func (u Usage) plus(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
	}
}

// estimated returns what a failed attempt has used up, of which the provider has
// told s. What it did not tell is estimated by the request, and by how many
// bytes of the answer came.
func (s Spend) estimated(req Request, came int) *Spend {
	s.Requests = 1
	if !s.Estimated {
		return &s
	}
	if s.Usage.Input == 0 {
		s.Usage.Input = int64(guessTokens(req))
	}
	s.Usage.Output = max(s.Usage.Output, int64(came+3)/4)
	return &s
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
