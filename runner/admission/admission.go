// Package admission has the questions that a run asks before it starts a job of a rollout, the state of its waves, and
// what a forecast is made from. It has no code that decides or estimates: package rollout decides and package forecast
// estimates, and the program can be built without them.
package admission

import (
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/tasks"
)

// Rollout decides which jobs of a run start. It gets the events of the run, is safe for concurrent use, and is an
// interface because the program can be built without rollouts.
type Rollout interface {
	event.Sink
	// Start returns the rollout of run.started.
	Start() *event.Rollout
	// Forget removes the result of a job that is run again.
	Forget(job string)
	// Waits reports whether a job can't start yet, but perhaps when a running one has ended.
	Waits(j tasks.Job) bool
	// Admit returns why a job may not start any more; "" if it starts.
	Admit(j tasks.Job) (held string)
	// End returns the outcome and the exit code of a run, given those that follow from its jobs alone, with the
	// figures that decided.
	End(outcome event.Outcome, exit event.Exit) (event.Outcome, event.Exit, *event.Rollout)
}

// WaveState is a wave for people.
type WaveState struct {
	Wave     int      `json:"wave"` // from 1
	Canary   bool     `json:"canary"`
	Jobs     []string `json:"jobs"`
	Finished int      `json:"finished"`
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	BaseRed  int      `json:"base_red"`
	State    string   `json:"state"` // complete, next, waiting, stopped or planned
}

// Sample is what is known of a population of jobs.
type Sample struct {
	Costs []money.USD     // of the finished jobs, in a random order
	Times []time.Duration // of the same jobs
	Rest  int             // jobs that have not finished
	Spent money.USD       // by all jobs so far, also by those that are not in Costs
	Cap   money.USD       // that no job exceeds; 0 for none
	Jobs  int             // that run in parallel, at least 1
}

// Forecast estimates what the jobs of a plan that have not finished cost. lacks describes why a sample is too
// small for that; "" if it is not.
type Forecast func(s Sample) (f *event.Forecast, lacks string)
