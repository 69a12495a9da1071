package rollout

import "github.com/millhand/millhand/internal/event"

// Status is a wave for people.
type Status struct {
	Wave     int      `json:"wave"` // from 1
	Canary   bool     `json:"canary"`
	Jobs     []string `json:"jobs"`
	Finished int      `json:"finished"`
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	BaseRed  int      `json:"base_red"`
	State    string   `json:"state"` // complete, next, waiting, stopped or planned
}

// Waves returns the state of each wave before the run: waiting is the one whose conditions
// are not met.
func (r *Rollout) Waves() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Status
	for i, w := range r.waves {
		f := r.figures(i)
		s := Status{Wave: i + 1, Canary: w.Canary, Finished: f.finished(), Passed: f.passed, Failed: f.failed, BaseRed: f.red, State: "planned"}
		for _, j := range w.Jobs {
			s.Jobs = append(s.Jobs, j.ID)
		}
		switch {
		case i == r.current && r.verdict != done:
			s.State = map[verdict]string{runs: "next", waits: "waiting", stopped: "stopped"}[r.verdict]
		case len(r.left(i)) == 0:
			s.State = "complete"
		}
		all = append(all, s)
	}
	return all
}

// Judgment returns the current wave with what decides about the next run.
func (r *Rollout) Judgment() *event.Rollout {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report()
}
