package command

import (
	"strconv"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// mostOf is the most that a job can cost, in USD: nil if no limit on money holds
// for it, or its models' prices are unknown so that none can be kept. Limits on
// turns and tokens bound no cost that one could name: a job's children and its
// failed requests come on top.
func (m *models) mostOf(j tasks.Job, n note) *float64 {
	if n.Action != "" { // it does not run
		return new(float64)
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
func (m *models) mostOfAll(notes map[string]note) *float64 {
	sum, budget := new(float64), some(m.plan.Budget.CostUSD)
	for _, j := range m.plan.Jobs {
		most := m.mostOf(j, notes[j.ID])
		if most == nil && budget != nil { // which can't be kept
			return nil
		}
		sum = event.SumUSD(sum, most)
	}
	return lesser(sum, budget)
}

// lesser is the lower of two bounds, of which nil is none.
func lesser(a, b *float64) *float64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func atMost(usd *float64) string {
	if usd == nil {
		return "unlimited"
	}
	return "$" + strconv.FormatFloat(*usd, 'f', -1, 64)
}
