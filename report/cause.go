package report

import "github.com/millhand/millhand/internal/event"

// Cause is why jobs ended: those with the same outcome and reason.
type Cause struct {
	Outcome event.Outcome
	Code    event.Code // of the first job
	Reason  string
	Jobs    []*Job // in the order of the plan
}

// Causes returns the causes of the run's jobs, in the order of their first jobs.
func (r *Report) Causes() []*Cause {
	type key struct {
		outcome event.Outcome
		reason  string
	}
	var all []*Cause
	known := map[key]*Cause{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		k := key{j.Outcome, j.Reason}
		if known[k] == nil {
			known[k] = &Cause{Outcome: j.Outcome, Code: j.ReasonCode, Reason: j.Reason}
			all = append(all, known[k])
		}
		known[k].Jobs = append(known[k].Jobs, j)
	}
	return all
}
