package models

import (
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/prices"
	"github.com/millhand/millhand/tasks"
)

// smallest is about what the first request of a session uses: the instructions, the
// tools, and the fewest tokens of output that a budget allows.
var smallest = money.Usage{Input: 2500, Output: 256}

// PriceTable identifies the table of prices.
func (m *Set) PriceTable() *event.PriceTable {
	return &event.PriceTable{Dated: m.table.Date, Version: m.table.Version}
}

// doubts lists why cost limits may not work: prices that are old, or of a name that
// stands for other models from time to time, and limits below the cost of one request.
func (m *Set) doubts() []string {
	var list []string
	capped := false
	for _, c := range m.named() {
		if _, fixed := m.Plan.Prices[c.name]; fixed || !c.capped || m.costs().free(c.id) {
			continue
		}
		known := m.costs().known(c.id)
		if len(known.Possible(m.now())) == 0 {
			continue
		}
		capped = true
		if known.Moving {
			list = append(list, fmt.Sprintf("%s is an alias of changing models: the cost limit uses the price of the one that it named when the price table was made; name that model instead", c.name))
		}
	}
	if age := m.table.Age(m.now()); capped && age > prices.MaxAge {
		list = append(list, fmt.Sprintf("the price table is %d days old (%s), so the cost limit may be exceeded: run millhand models --refresh", int(age.Hours()/24), m.table.Latest()))
	}
	seen := map[string]bool{}
	for _, j := range m.Plan.Jobs {
		limit := minUSD(some(j.Limits.CostUSD), some(m.Plan.Budget.CostUSD))
		least := m.quotes([]tasks.Model{{ID: j.Model, Name: j.ModelName}}).Most(smallest, m.now())
		if limit == nil || least <= *limit {
			continue
		}
		text := fmt.Sprintf("the cost limit of $%s is too small for one request to %s, which costs about $%s", limit, j.ModelName, least)
		if !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
	return list
}
