package rollout

import (
	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/admission"
)

// Waves returns the state of each wave before the run: waiting is the one whose conditions
// are not met.
func (r *Rollout) Waves() []admission.WaveState {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []admission.WaveState
	for i, w := range r.waves {
		f := r.figures(i)
		s := admission.WaveState{Wave: i + 1, Canary: w.Canary, Finished: f.finished(), Passed: f.passed, Failed: f.failed, BaseRed: f.red, State: "planned"}
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
