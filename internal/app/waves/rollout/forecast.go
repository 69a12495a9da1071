package rollout

import (
	"crypto/sha256"
	"sort"
	"time"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/runner/admission"
	"github.com/millhand/millhand/tasks"
)

// Forecast returns what the jobs that have not finished are expected to cost; nil if nothing estimates it.
func (r *Rollout) Forecast() *event.Forecast {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, _ := r.forecast()
	return f
}

// forecast returns what is expected, and what is missing for a bound.
func (r *Rollout) forecast() (f *event.Forecast, lacks string) {
	if r.estimate == nil {
		return nil, "this program was built without forecasts"
	}
	return r.estimate(r.sample())
}

// sample has the finished jobs, except canaries, which are no random sample.
func (r *Rollout) sample() admission.Sample {
	type finished struct {
		digest string
		job    tasks.Job
	}
	var sample []finished
	s := admission.Sample{Spent: r.history.spent, Jobs: r.parallel}
	capped := true
	for i, w := range r.waves {
		for _, j := range w.Jobs {
			s.Cap = max(s.Cap, j.Limits.CostUSD)
			capped = capped && j.Limits.CostUSD > 0
			switch r.result(j) {
			case unknown, red:
				s.Rest++
			case passed, failed:
				if r.history.jobs[j.ID].end != nil && !r.waves[i].Canary {
					digest := sha256.Sum256([]byte(j.ID))
					sample = append(sample, finished{string(digest[:]), j})
				}
			case neutral:
			}
		}
	}
	if !capped {
		s.Cap = 0
	}
	sort.Slice(sample, func(i, j int) bool { return sample[i].digest < sample[j].digest })
	for _, f := range sample {
		end := r.history.jobs[f.job.ID].end
		cost := f.job.Limits.CostUSD // of one that is unknown
		if end.CostUSD != nil {
			cost = *end.CostUSD
		}
		s.Costs, s.Times = append(s.Costs, cost), append(s.Times, time.Duration(end.ElapsedMS)*time.Millisecond)
	}
	return s
}
