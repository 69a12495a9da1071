package report

import (
	"cmp"
	"math"

	"github.com/millhand/millhand/internal/event"
)

// takeRetry counts a request that was made again, or notes that another model
// answers from now on.
func (j *job) takeRetry(e event.Event) {
	r := e.Retry
	switch {
	case r == nil:
	case r.To != "":
		j.changed = append(j.changed, Fallback{Session: e.Session, Turn: r.Turn, From: r.From, To: r.To, Error: r.Error})
	default:
		j.session(e.Session).turn(r.Turn).retries++
	}
}

// report is what the turn used up, in a session with the given model.
func (t *turn) report(model string) TurnCost {
	return TurnCost{
		Turn: t.number, Model: cmp.Or(t.end.Model, model), Usage: t.usage, CostUSD: t.cost, Retries: t.retries,
		Lost: t.end.Lost, Error: t.end.Error,
	}
}

// lost is a copy of l in which a cost is a number or unknown.
func lost(l *event.Lost) *event.Lost {
	if l == nil {
		return nil
	}
	kept := *l
	kept.CostUSD = finite(l.CostUSD)
	return &kept
}

// tellSpending warns of what makes a cost less certain or other than expected.
func (r *Report) tellSpending() {
	for _, j := range r.Jobs {
		for _, f := range j.Fallbacks {
			r.warn(j.ID, f.From+" was down, and "+f.To+" answered from then on: "+f.Error)
		}
		if j.Lost != nil && j.Lost.Estimated {
			r.warn(j.ID, "the usage and cost are estimated in part: the answers of "+count(j.Lost.Requests, "request")+" broke off before the provider told what they took")
		}
	}
}

// spend is what turns used up. Cost is nil when that of any turn is unknown;
// a model call that never ended has cost nobody knows what.
type spend struct {
	turns int
	usage event.Usage
	cost  *float64
}

func (j *job) spent() spend {
	sum := spend{cost: new(0.0)}
	for _, s := range j.sessions {
		part := s.spent()
		sum.turns += part.turns
		sum.usage = sum.usage.Add(part.usage)
		sum.cost = addCost(sum.cost, part.cost)
	}
	return sum
}

func (s *session) spent() spend {
	sum := spend{cost: new(0.0)}
	for _, t := range s.turns {
		sum.turns += min(t.number, 1)
		sum.usage = sum.usage.Add(t.usage)
		sum.cost = addCost(sum.cost, t.cost)
	}
	return sum
}

// share is the turn's cost divided evenly over its calls.
func (t *turn) share() *float64 {
	if t.cost == nil {
		return nil
	}
	return finite(new(tidy(*t.cost / float64(t.calls))))
}

// addCost adds two costs. One that is unknown makes the sum unknown.
func addCost(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return finite(new(tidy(*a + *b)))
}

// tidy rounds a computed cost to a millionth of a millionth of a dollar, so
// that reports do not show the noise of binary fractions.
func tidy(cost float64) float64 {
	const unit = 1e12
	if math.Abs(cost) > 1e6 {
		return cost // too big for the noise to show
	}
	return math.Round(cost*unit) / unit
}

// finite makes a cost that is no number an unknown one; JSON has no form for it.
func finite(cost *float64) *float64 {
	if cost == nil || math.IsNaN(*cost) || math.IsInf(*cost, 0) {
		return nil
	}
	return clone(cost)
}
