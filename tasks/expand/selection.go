package expand

import (
	"context"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/manifest/repolist"
	"github.com/millhand/millhand/tasks/template"
)

// hashForAnyRun gives a plan that names its run, and its jobs, the hashes that they have in every run.
func hashForAnyRun(p *tasks.Plan, ctx context.Context, paths []string, o tasks.Options) error {
	o.RunID = template.AnyRun
	same, err := load(ctx, paths, o)
	if err != nil {
		return err
	}
	p.Hash = same.Hash
	for i := range p.Jobs {
		p.Jobs[i].Hash = same.Jobs[i].Hash
	}
	return nil
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
