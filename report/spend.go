package report

import (
	"cmp"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
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
	usage money.Usage
	cost  *money.USD
}

func (j *job) spent() spend {
	sum := spend{cost: new(money.USD)}
	for _, s := range j.sessions {
		part := s.spent()
		sum.turns += part.turns
		sum.usage = sum.usage.Add(part.usage)
		sum.cost = money.Sum(sum.cost, part.cost)
	}
	return sum
}

func (s *session) spent() spend {
	sum := spend{cost: new(money.USD)}
	for _, t := range s.turns {
		sum.turns += min(t.number, 1)
		sum.usage = sum.usage.Add(t.usage)
		sum.cost = money.Sum(sum.cost, t.cost)
	}
	return sum
}

// share is the share that the turn's call with the given index, from 0, has of its
// cost: all have the same, and together they have all of it.
func (t *turn) share(call int) *money.USD {
	if t.cost == nil {
		return nil
	}
	return new(t.cost.Share(call, t.calls))
}
