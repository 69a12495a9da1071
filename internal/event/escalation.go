package event

import "github.com/millhand/millhand/internal/money"

// Escalation is the payload of model.escalated: a model has used up its attempts, and the next one continues in a new
// conversation of the same session.
type Escalation struct {
	From    string  `json:"from"`           // the model that failed
	To      string  `json:"to"`             // the next one
	Attempt int     `json:"attempt"`        // the last one of the model that failed
	Outcome Outcome `json:"outcome"`        // that the job would have had
	Reason  string  `json:"reason"`         // why it failed, in one line
	Failed  string  `json:"failed"`         // what failed, for the prompt of the next model
	Base    bool    `json:"base,omitempty"` // the changes of the model that failed were undone
	Tree    string  `json:"tree,omitempty"` // saved state of the workspace; empty for that of the start
}

// ModelCost is what one of several models of a job has cost.
type ModelCost struct {
	Model   string
	CostUSD *money.USD // nil if unknown
}

// ModelCosts returns the cost of each model of a job that has escalated, in their order; nil for one that has not.
func ModelCosts(steps []Escalation, costs []money.Total) (all []ModelCost) {
	for i, s := range steps {
		if i == 0 {
			all = append(all, ModelCost{s.From, costs[0].USD()})
		}
		all = append(all, ModelCost{s.To, costs[i+1].USD()})
	}
	return all
}
