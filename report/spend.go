package report

import (
	"cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
)

// takeRetry counts a retried request, or records a fallback to another model. Calls of
// the response that broke off were not made.
func (j *job) takeRetry(e event.Event) {
	r := e.Retry
	j.calls.withdraw(e.Session, r.Turn)
	switch {
	case r.To != "":
		j.changed = append(j.changed, Fallback{Session: e.Session, Turn: r.Turn, From: r.From, To: r.To, Error: r.Error})
	default:
		t := j.session(e.Session).turn(r.Turn)
		t.waitMS += r.WaitMS
		if !r.Outage || r.Attempt > 0 {
			t.retries++
		}
	}
}

// report returns the usage and cost of the turn, in a session with the given model.
func (t *turn) report(model string) TurnCost {
	return TurnCost{
		Turn: t.number, Model: cmp.Or(t.end.Model, model), Served: t.end.ModelServed, Finish: t.end.Finish,
		StartedAt: stamp(t.started), ElapsedMS: t.end.ElapsedMS, Usage: t.usage, CostUSD: t.cost, Retries: t.retries,
		Lost: t.end.Lost, Error: t.end.Error,
	}
}

// warnUnknownCosts warns of fallbacks and estimated costs.
func (r *Report) warnUnknownCosts() {
	for _, j := range r.Jobs {
		for _, f := range j.Fallbacks {
			r.warn(j.ID, f.From+" failed, fell back to "+f.To+": "+f.Error)
		}
		if j.Lost != nil && j.Lost.Estimated {
			r.warn(j.ID, "usage and cost are partly estimated: "+figures.Count(j.Lost.Requests, "response")+" broke off before the provider reported usage")
		}
	}
}

// spend is the usage and cost of turns. The cost of a model call that never ended is unknown.
type spend struct {
	turns int
	usage money.Usage
	cost  money.Total
}

func (j *job) spent() spend {
	var sum spend
	for _, s := range j.sessions {
		one := s.spent()
		sum.turns += one.turns
		sum.usage = sum.usage.Add(one.usage)
		sum.cost.Plus(one.cost)
	}
	return sum
}

func (s *session) spent() spend {
	var sum spend
	for _, t := range s.turns {
		sum.turns += min(t.number, 1)
		sum.usage = sum.usage.Add(t.usage)
		sum.cost.Add(t.cost, t.least())
	}
	return sum
}

// least returns a lower bound of the cost of the turn.
func (t *turn) least() money.USD {
	switch {
	case t.cost != nil:
		return *t.cost
	case t.end.Lost != nil && t.end.Lost.CostUSD != nil:
		return *t.end.Lost.CostUSD
	}
	return 0
}

// share returns the cost share of the turn's call with an index, from 0: an equal share
// for each call, with the sum equal to the cost of the turn.
func (t *turn) share(call int) *money.USD {
	if t.cost == nil {
		return nil
	}
	return new(t.cost.Share(call, t.calls))
}
