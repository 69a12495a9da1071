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
	script     *event.Script
	basis      basis
	network    []NetworkDenial
	extensions []event.Extension // the last state of each, in the order of their first event
}

// reporter returns the function that adds an event around the sessions; nil for other types.
func reporter(t event.Type) func(*job, event.Event) {
	switch t {
	case event.PhaseEnded:
		return (*job).takePhase
	case event.ScriptEnded:
		return (*job).takeScript
	default:
		return nil
	}
}

// takePhase adds a phase that has ended.
func (j *job) takePhase(e event.Event) {
	p := e.Phase
	if p == nil {
		return
	}
	a := &j.around
	if a.phasedIn != j.inRun { // a run that is resumed starts again
		a.phases, a.phasedIn = nil, j.inRun
	}
	from := e.Time.Add(-time.Duration(p.ElapsedMS) * time.Millisecond)
	if from.Before(j.begunAt) { // the first phase has no event before its end
		j.begunAt = from
	}
	a.phases = append(a.phases, Phase{Name: p.Name, StartedAt: stamp(from), ElapsedMS: p.ElapsedMS, Error: p.Error})
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
