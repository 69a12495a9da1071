package outlook

import (
	"context"
	"fmt"

	"github.com/millhand/millhand/internal/app/fault"
	"github.com/millhand/millhand/internal/app/forges"
	"github.com/millhand/millhand/internal/app/models"
	"github.com/millhand/millhand/internal/app/repos"
	"github.com/millhand/millhand/internal/app/world"
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/runner/preflight"
	"github.com/millhand/millhand/tasks"
)

// note is the reason why a planned job would not start. The zero value means that it runs.
type note struct {
	Action string `json:"action"` // skip, refuse, fail, or push the commit of an earlier run
	Reason string `json:"reason"`
	Code   string `json:"code"`

	asked bool // the remote was contacted
}

func (n note) String() string {
	if n.Action == "" {
		return "-"
	}
	return n.Action + ": " + n.Reason
}

// runs reports whether a job with this note may run.
func (n note) runs(j tasks.Job) bool {
	appends := n.Action == "push" && !n.asked && j.Commit.IfExists == tasks.AppendIfExists // it runs if the remote has the branch
	return n.Action == "" || appends
}

// maxCost returns the maximum cost of a job, in USD; nil for no limit.
func maxCost(m *models.Set, j tasks.Job, n note) *money.USD {
	if !n.runs(j) {
		return new(money.USD)
	}
	return m.MaxCost(j)
}

// maxRunCost returns the maximum cost of the run, in USD; nil for no limit.
func maxRunCost(m *models.Set, notes map[string]note) *money.USD {
	return m.MaxRunCost(func(j tasks.Job) bool { return notes[j.ID].runs(j) })
}

// look determines which jobs would not run, what setup commands may reach, and the
// number of jobs for which the run would be refused. With local it contacts no remote.
func look(ctx context.Context, w world.World, plan *tasks.Plan, local bool) (notes map[string]note, setups map[string]setupNote, refused int, err error) {
	known := w.Redactor(plan)
	hosts := forges.Hosts(w, plan, known.Hold)
	at := repos.Look(w, hosts)
	at.Forge = forges.Clients(w, hosts, nil).Open
	at.Local = local
	ready, err := preflight.Check(ctx, plan, at)
	if ctx.Err() != nil {
		return nil, nil, 0, fault.Wrap(fault.ExitOf(context.Cause(ctx)), context.Cause(ctx))
	}
	refusals := preflight.Refusals(err)
	if err != nil && len(refusals) == 0 {
		return nil, nil, 0, fault.Wrap(event.ExitUsage, err)
	}
	notes = map[string]note{}
	for _, r := range refusals {
		notes[r.Job] = note{Action: "refuse", Reason: r.Err.Error(), Code: string(r.Code)}
		refused++
	}
	for _, j := range plan.Jobs {
		if c := ready.Earlier(j.ID); c.Hash != "" {
			notes[j.ID] = note{Action: "push", asked: !at.Local, Reason: fmt.Sprintf("branch %s (%.10s) of an earlier run, unless the remote has it", c.Branch, c.Hash)}
		}
		if s := ready.Skip(j.ID); s.Reason != "" {
			action := "skip"
			if s.Outcome != event.Skipped {
				action = "fail"
			}
			notes[j.ID] = note{Action: action, Reason: s.Reason, Code: string(s.Code)}
		}
	}
	return notes, setupNotes(ctx, w, plan, ready), refused, nil
}
