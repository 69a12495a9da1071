package expand

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/problem"
)

// selected returns the drafts that the command line asks for: those that it
// names, of these the first ones, and of these a sample.
func (g *taskGraph) selected(drafts []*draft) []*draft {
	o := g.Options.Overrides
	chosen := g.namedIn(drafts, o.Only)
	if o.Limit > 0 {
		chosen = chosen[:min(o.Limit, len(chosen))]
	}
	if o.Sample > 0 {
		chosen = sample(chosen, o.Sample)
	}
	return chosen
}

// namedIn returns the drafts that are named by the id of a task or of a job; all
// of them if none is.
func (g *taskGraph) namedIn(drafts []*draft, only []string) []*draft {
	if len(only) == 0 {
		return drafts
	}
	known := slices.Sorted(maps.Keys(g.byID))
	exists, complete := map[string]bool{}, g.complete && len(drafts) > 0
	for _, id := range known {
		exists[id] = true
	}
	for _, d := range drafts {
		complete = complete && !d.unsure
		if !exists[d.job.ID] {
			exists[d.job.ID] = true
			known = append(known, d.job.ID)
		}
	}
	wanted := map[string]bool{}
	for _, id := range only {
		wanted[id] = true
		if !exists[id] && complete {
			g.flagProblem("--only", "unknown task or job "+problem.Quote(id), g.Found.Suggest(id, known, "known: "))
		}
	}
	return slices.DeleteFunc(slices.Clone(drafts), func(d *draft) bool { return !wanted[d.task.ID.S] && !wanted[d.job.ID] })
}

// sample returns n of the drafts, in their order: those whose ids have the
// smallest digests, which are the same in every run and spread over the plan.
func sample(drafts []*draft, n int) []*draft {
	if n >= len(drafts) {
		return drafts
	}
	digests := make(map[*draft]string, len(drafts))
	for _, d := range drafts {
		sum := sha256.Sum256([]byte(d.job.ID))
		digests[d] = string(sum[:])
	}
	byDigest := slices.SortedFunc(slices.Values(drafts), func(a, b *draft) int { return strings.Compare(digests[a], digests[b]) })
	for _, d := range byDigest[n:] {
		delete(digests, d)
	}
	return slices.DeleteFunc(slices.Clone(drafts), func(d *draft) bool { return digests[d] == "" })
}

// takeShard reduces the plan to the jobs of one shard.
func takeShard(p *tasks.Plan, s tasks.Shard) {
	if s == (tasks.Shard{}) {
		return
	}
	of := tasks.ShardOf(p, s.Total)
	p.Shard = s
	p.Jobs, p.Elsewhere = repolist.Partition(p.Jobs, func(j tasks.Job) bool { return of[j.ID] == s.Index })
}
