package money

// Charge is what requests to a model used up that failed when their response had
// begun.
type Charge struct {
	Requests  int   `json:"requests"`  // number of requests
	Usage     Usage `json:"usage"`     // of all requests
	CostUSD   *USD  `json:"cost_usd"`  // nil when unknown
	Estimated bool  `json:"estimated"` // the provider did not report all token counts
}

// Plus returns the sum of two charges; nil means no charge. The sum with an unknown cost
// is unknown.
func (c *Charge) Plus(d *Charge) *Charge {
	switch {
	case c == nil:
		return d
	case d == nil:
		return c
	}
	return &Charge{
		Requests: c.Requests + d.Requests, Usage: c.Usage.Add(d.Usage), CostUSD: Sum(c.CostUSD, d.CostUSD),
		Estimated: c.Estimated || d.Estimated,
	}
}
