package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/millhand/millhand/internal/event"
)

// environment is what a job has beside its sessions: phases, its script, the base, and what its commands and extensions did.
type environment struct {
	phases     []Phase   // of the last execution
	phasedIn   execution // of the last one
	script     *event.Script
	escalated  []event.Escalation
	reviews    []reviewOf // of the changes
	basis      basis
	network    []NetworkDenial
	extensions []event.Extension // the last state of each, in the order of their first event
}

// execution numbers the executions of a job by the run.started and job.started events before an event. In a
// merged stream, which has one run.started event, job.started shows that a killed job was executed again.
type execution struct{ run, start int }

func (j *job) takeVerify(e event.Event) {
	v := Verify{*e.Verify, stamp(e.Time.Add(-time.Duration(e.Verify.ElapsedMS) * time.Millisecond))}
	v.In = cmp.Or(v.In, event.InWorkspace) // earlier releases had no other
	if j.verifiedIn != j.in {              // a job that starts again repeats the attempt that a kill interrupted
		j.verifiedIn = j.in
		j.verify = slices.DeleteFunc(j.verify, func(earlier Verify) bool { return earlier.Attempt >= v.Attempt })
	}
	j.verify = append(j.verify, v)
}

// takePhase adds a phase that has ended.
func (j *job) takePhase(e event.Event) {
	p, a := e.Phase, &j.environment
	if a.phasedIn != j.in { // a job that starts again repeats them
		a.phases, a.phasedIn = nil, j.in
	}
	from := e.Time.Add(-time.Duration(p.ElapsedMS) * time.Millisecond)
	if from.Before(j.begunAt) { // the first phase has no event before its end
		j.begunAt = from
	}
	a.phases = append(a.phases, Phase{Name: p.Name, StartedAt: stamp(from), ElapsedMS: p.ElapsedMS, Error: p.Error})
}
