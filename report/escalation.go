package report

import (
	"fmt"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
)

// Escalation is what one of several models of a job did. The reviewer of its changes is in none of them.
type Escalation struct {
	Model    string        `json:"model"`
	Attempts int           `json:"attempts"`
	Outcome  event.Outcome `json:"outcome"` // that the job would have had; of the last model, that it has
	Reason   string        `json:"reason"`
	Usage    money.Usage   `json:"usage"`
	CostUSD  *money.USD    `json:"cost_usd"` // nil if unknown
}

// String describes the row in one line.
func (e *Escalation) String() string {
	return fmt.Sprintf("%s: %s after %s, %s", e.Model, e.Outcome, figures.Count(e.Attempts, "attempt"), money.Rounded(e.CostUSD))
}

// takeEscalation adds a step to another model. The turns before it were of the model that failed.
func (j *job) takeEscalation(e event.Event) {
	j.environment.escalated = append(j.environment.escalated, *e.Escalation)
	for _, s := range j.sessions {
		if s.info.Parent != "" {
			continue
		}
		for _, t := range s.turns {
			if t.end.Model == "" && t.stage == len(j.environment.escalated)-1 {
				t.end.Model = e.Escalation.From
			}
		}
	}
}

// escalation returns a row for each model of a job that has used several.
func (j *job) escalation(end event.JobEnd) []Escalation {
	steps := j.environment.escalated
	if len(steps) == 0 {
		return []Escalation{}
	}
	var rows []Escalation
	before := 0
	for _, s := range steps {
		rows = append(rows, Escalation{Model: s.From, Attempts: s.Attempt - before, Outcome: s.Outcome, Reason: s.Reason})
		before = s.Attempt
	}
	rows = append(rows, Escalation{Model: steps[len(steps)-1].To, Attempts: end.Attempts - before, Outcome: end.Outcome, Reason: end.Reason})
	costs := make([]money.Total, len(rows))
	for _, s := range j.sessions {
		if event.IsReview(s.id) {
			continue
		}
		for _, t := range s.turns {
			if t.number > 0 && t.stage < len(rows) {
				rows[t.stage].Usage = rows[t.stage].Usage.Add(t.usage)
				costs[t.stage].Add(t.cost, 0)
			}
		}
	}
	for i := range rows {
		rows[i].CostUSD = costs[i].USD()
	}
	return rows
}
