package models

import (
	"slices"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

// MaxCost returns the maximum cost of a job, in USD: nil if it has no cost limit, or
// if a price is unknown, so that the limit can't be enforced. Limits on turns and
// tokens give no bound, because they don't include subagents and failed requests.
func (m *Set) MaxCost(j tasks.Job) *money.USD {
	chain := j.Models()
	for _, a := range m.Plan.Agents {
		if a.Model != nil && !j.Profile.Hides("task") {
			chain = append(chain, *a.Model)
		}
	}
	paid := false
	for _, of := range chain {
		p, ok := m.costs().price(of.ID, of.Name)
		if !ok && !recorded(of.ID) {
			return nil
		}
		paid = paid || !ok || slices.ContainsFunc(p.Possible(m.now()), money.Price.Positive)
	}
	if !paid {
		return new(money.USD)
	}
	return minUSD(some(j.Limits.CostUSD), some(m.Plan.Budget.CostUSD))
}

// MaxRunCost returns the maximum cost of a run, of the jobs for which runs is true.
func (m *Set) MaxRunCost(runs func(tasks.Job) bool) *money.USD {
	var sum money.Total
	budget := some(m.Plan.Budget.CostUSD)
	for _, j := range m.Plan.Jobs {
		if !runs(j) {
			continue
		}
		most := m.MaxCost(j)
		if most == nil && budget != nil { // the budget can't be enforced
			return nil
		}
		sum.Add(most, 0)
	}
	return minUSD(sum.USD(), budget)
}

// minUSD returns the lower of two limits; nil is no limit.
func minUSD(a, b *money.USD) *money.USD {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// some returns nil for the zero value, which means no limit, or unknown.
func some[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
