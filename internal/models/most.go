package models

import (
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

// MostOf is the most that a job can cost, in USD: nil if no limit on money holds
// for it, or its models' prices are unknown so that none can be kept. Limits on
// turns and tokens bound no cost that one could name: a job's children and its
// failed requests come on top.
func (m *Set) MostOf(j tasks.Job) *money.USD {
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

// MostOfAll is the most that the run can cost, of the jobs that runs reports.
func (m *Set) MostOfAll(runs func(tasks.Job) bool) *money.USD {
	sum, budget := new(money.USD), some(m.plan.Budget.CostUSD)
	for _, j := range m.plan.Jobs {
		if !runs(j) {
			continue
		}
		most := m.MostOf(j)
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

// some is nil for the zero value, which means no limit, or unknown.
func some[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
