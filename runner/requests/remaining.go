package requests

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/permission/policy"
	"github.com/millhand/millhand/tasks"
)

// Again returns the decisions about requests that an earlier process has prepared and not made, as of [Decide]: the task must still
// allow them, and the policies that apply now. earlier are all requests of the job.
func Again(r tasks.Requests, bounds policy.Set, left, earlier []event.ForgeRequest, clean func(string) string) []event.ForgeRequest {
	r = bounded(r, bounds)
	asked := slices.Clone(left)
	for i := range asked {
		one := &asked[i]
		one.Outcome, one.Reason, one.URL = "", "", ""
		if one.Kind != event.LabelRequest {
			continue
		}
		if by, what := bounds.RefusesRequests("labels", 0, []string{one.Label}); what != "" {
			one.Outcome, one.Reason = event.RequestRefused, fmt.Sprintf("not allowed by %s", by.By())
		}
	}
	done := slices.DeleteFunc(slices.Clone(earlier), func(one event.ForgeRequest) bool { return one.Outcome != event.RequestDone })
	return Decide(r, asked, done, clean)
}

// bounded returns the requests that both a task and policies allow, except for the names of labels.
func bounded(r tasks.Requests, bounds policy.Set) tasks.Requests {
	for _, p := range bounds {
		if most := p.Requests; most != nil {
			r.MaxLabels, r.MaxIssues, r.MaxComments = min(r.MaxLabels, most.Max["labels"]), min(r.MaxIssues, most.Max["issue"]), min(r.MaxComments, most.Max["comment"])
		}
	}
	return r
}
