package report

import (
	"encoding/json"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/findings"
)

// around is what happened around the sessions of a job.
type around struct {
	phases     []Phase // of the last run
	phasedIn   int     // inRun of the last one
	network    []NetworkDenial
	extensions []event.Extension // the last state of each, in the order of their first event
}

// takePhase adds a phase when it starts, and its duration when it ends.
func (j *job) takePhase(e event.Event) {
	p := e.Phase
	if p == nil {
		return
	}
	a := &j.around
	if a.phasedIn != j.inRun { // a run that is resumed starts again
		a.phases, a.phasedIn = nil, j.inRun
	}
	started := Phase{Name: p.Name, StartedAt: stamp(e.Time.Add(-time.Duration(p.ElapsedMS) * time.Millisecond)), ElapsedMS: p.ElapsedMS, Error: p.Error}
	if last := len(a.phases) - 1; last >= 0 && a.phases[last].Name == p.Name && e.Type == event.PhaseEnded {
		started.StartedAt = a.phases[last].StartedAt
		a.phases[last] = started
		return
	}
	a.phases = append(a.phases, started)
}

// review returns the findings of a job; nil if it has reported none, or has another schema.
func review(planned *event.PlannedJob, output json.RawMessage) *findings.Review {
	if !planned.Findings || len(output) == 0 {
		return nil
	}
	r, err := findings.Parse(output)
	if err != nil {
		return nil // not written by millhand
	}
	return r
}
