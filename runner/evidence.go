package runner

import (
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/tasks"
)

// evidence describes the evidence of a plan for the start of its run; nil for none.
func evidence(plan *tasks.Plan) *event.Evidence {
	if plan.Evidence == nil {
		return nil
	}
	e := &event.Evidence{Sign: string(plan.Evidence.Sign), Caps: map[string]event.Caps{}}
	for i, sum := range plan.Evidence.Sums {
		e.Manifests = append(e.Manifests, event.PolicyFile{Path: plan.Manifests[i], SHA256: sum})
	}
	for _, j := range plan.Jobs {
		l := j.Limits
		e.Caps[j.ID] = event.Caps{CostUSD: l.CostUSD, Turns: l.Turns, Tokens: l.Tokens, TimeMS: l.Time.Milliseconds(), Denials: l.Denials}
	}
	return e
}
