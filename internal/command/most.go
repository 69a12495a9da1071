package command

import (
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

// mostOf is the most that a job can cost, in USD: nil if no limit on money holds
// for it, or its models' prices are unknown so that none can be kept. Limits on
// turns and tokens bound no cost that one could name: a job's children and its
// failed requests come on top.
func (m *models) mostOf(j tasks.Job, n note) *money.USD {
	if n.Action != "" { // it does not run
		return new(money.USD)
	}
	chain := append([]tasks.Model{{ID: j.Model, Name: j.ModelName}}, j.Fallback...)
	for _, a := range m.plan.Agents {
		if a.Model != nil && !j.Profile.Hides("task") {
			chain = append(chain, *a.Model)
		}
	}
	for _, of := range chain {
		if _, ok := m.price(of.ID, of.Name); !ok && !recorded(of.ID) {
			return nil
		}
	}
	return lesser(some(j.Limits.CostUSD), some(m.plan.Budget.CostUSD))
}

// mostOfAll is the most that the run can cost.
func (m *models) mostOfAll(notes map[string]note) *money.USD {
	sum, budget := new(money.USD), some(m.plan.Budget.CostUSD)
	for _, j := range m.plan.Jobs {
		most := m.mostOf(j, notes[j.ID])
		if most == nil && budget != nil { // which can't be kept
			return nil
		}
		sum = money.Sum(sum, most)
	}
	return lesser(sum, budget)
}

// lesser is the lower of two bounds, of which nil is none.
func lesser(a, b *money.USD) *money.USD {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func atMost(usd *money.USD) string {
	if usd == nil {
		return "unlimited"
	}
	return "$" + usd.String()
}
