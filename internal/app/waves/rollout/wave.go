package rollout

import (
	"crypto/sha256"
	"slices"
	"sort"

	"github.com/millhand/millhand/tasks"
)

// Wave is a set of jobs that one or more runs execute before the next wave starts.
type Wave struct {
	Canary bool
	Jobs   []tasks.Job // in the order of their digests
}

// Divide returns the waves of a plan: the canaries, then the waves in the order of the
// rollout, then the rest. Waves without jobs are left out. The order of jobs follows from
// digests of their ids, so that it is the same on every machine and a job that is added
// moves few others. Jobs that need one another are in the same wave, which may be larger
// than asked for.
func Divide(r *tasks.Rollout, jobs []tasks.Job) []Wave {
	first := tasks.GroupsOf(jobs)
	groups := map[string][]tasks.Job{}
	canary := map[string]bool{}
	for _, j := range jobs {
		id := first[j.ID]
		groups[id] = append(groups[id], j)
		canary[id] = canary[id] || slices.Contains(r.Canary, j.Repo.Name)
	}
	type group struct {
		digest [sha256.Size]byte
		jobs   []tasks.Job
	}
	var canaries, others []group
	for id, jobs := range groups {
		g := group{sha256.Sum256([]byte(id)), jobs}
		if canary[id] {
			canaries = append(canaries, g)
		} else {
			others = append(others, g)
		}
	}
	for _, all := range [][]group{canaries, others} {
		sort.Slice(all, func(i, j int) bool { return string(all[i].digest[:]) < string(all[j].digest[:]) })
	}
	var waves []Wave
	started := 0
	take := func(w Wave, from []group, until int) (rest []group) {
		for len(from) > 0 && started < until {
			w.Jobs = append(w.Jobs, from[0].jobs...)
			started += len(from[0].jobs)
			from = from[1:]
		}
		if len(w.Jobs) > 0 {
			waves = append(waves, w)
		}
		return from
	}
	take(Wave{Canary: true}, canaries, len(jobs))
	for _, size := range r.Waves {
		others = take(Wave{}, others, size.Of(len(jobs)))
	}
	take(Wave{}, others, len(jobs))
	return waves
}
