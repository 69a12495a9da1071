package report

import (
	"fmt"
	"slices"

	"github.com/millhand/millhand/internal/event"
)

// conform replaces enum values that the schema does not list, which a newer release may
// have written, with the most cautious known value, and adds a warning.
func conform(r *Report, j *Job) {
	j.Outcome = known(r, j.ID, "outcome", j.Outcome, event.Error, outcomes...)
	j.Sandbox.Level = known(r, j.ID, "sandbox level", j.Sandbox.Level, "none", "", "none", "A", "B", "external")
	for k := range j.Changes {
		j.Changes[k].Kind = known(r, j.ID, "kind of change", j.Changes[k].Kind, "modified", "added", "modified", "deleted")
	}
	for k := range j.Untracked {
		j.Untracked[k].Kind = known(r, j.ID, "kind of change", j.Untracked[k].Kind, "modified", "added", "modified", "deleted")
	}
	for k := range j.LeftOut {
		j.LeftOut[k].By = known(r, j.ID, "maker of files", j.LeftOut[k].By, event.ByBuild, event.BySetup, event.ByBaseline, event.ByVerify, event.ByHook, event.ByBuild)
	}
	for k := range j.Baseline {
		b := &j.Baseline[k]
		b.In = known(r, j.ID, "kind of verify", b.In, event.InWorkspace, event.InWorkspace, event.InClean)
	}
	for k := range j.Verify {
		j.Verify[k].In = known(r, j.ID, "kind of verify", j.Verify[k].In, event.InWorkspace, event.InWorkspace, event.InClean)
	}
	for k := range j.Calls {
		c := &j.Calls[k]
		c.Status = known(r, j.ID, "call status", c.Status, event.CallError, event.CallCompleted, event.CallError, event.CallDenied)
		if c.Decision != nil {
			c.Decision.Effect = known(r, j.ID, "decision", c.Decision.Effect, "deny", "allow", "deny")
		}
	}
}

var outcomes = []event.Outcome{
	event.Passed, event.Failed, event.Limit, event.Budget, event.Policy,
	event.Error, event.Provider, event.Publish, event.Skipped, event.Cancelled,
}

// known returns got if it is one of the known values, and otherwise the replacement.
func known[T ~string](r *Report, job, what string, got, instead T, values ...T) T {
	if slices.Contains(values, got) {
		return got
	}
	r.warn(job, fmt.Sprintf("unknown %s %q, reported as %q", what, got, instead))
	return instead
}
