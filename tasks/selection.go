package tasks

import (
	"context"
)

// hash identifies what a plan does. It leaves out what differs between machines
// without changing that: absolute directories, positions of rules, the names of the
// manifests, and the ids of jobs, which may hold the name of the current
// directory. It also leaves out how many jobs run concurrently and the run's
// budget: a run that exceeded its budget is resumed with a larger one.
func (b *builder) hash(p *Plan, drafts []*draft) string {
	jobs := make([]string, len(drafts))
	for i, d := range drafts {
		jobs[i] = d.hash()
	}
	return digest(p.AllowDirty, p.AllowUnknownPrice, p.Prices, jobs, b.hashEquipment(p), p.Batch, p.Output)
}

// hashEquipment identifies what jobs have beside what they say themselves.
func (b *builder) hashEquipment(p *Plan) string {
	skills := make([]string, len(b.shared.skills))
	for i, s := range b.shared.skills {
		skills[i] = s.written
	}
	if len(b.shared.servers) > 0 { // so that other plans keep their hash
		skills = append(skills, digest(digests(b.shared.servers)))
	}
	if scripts := hashScripts(b); scripts != nil {
		skills = append(skills, digest(scripts))
	}
	if len(b.shared.hooks) > 0 {
		skills = append(skills, digest("hooks", digests(b.shared.hooks)))
	}
	if len(b.shared.languageServers) > 0 {
		skills = append(skills, digest(digests(b.shared.languageServers), diagnosticsWait(b.manifests)))
	}
	if p.Evidence != nil {
		skills = append(skills, digest("evidence", p.Evidence.Sign))
	}
	return digest(digests(b.shared.endpoints), digests(b.shared.agents), digests(b.shared.search), digests(b.shared.tools), skills)
}

func (d *draft) hash() string {
	j := d.job
	var needs []string
	for _, n := range d.task.needs {
		needs = append(needs, n.S)
	}
	hash := digest(
		j.Task, j.Repo.Kind, d.repo.written, j.Repo.Ref, j.Repo.Depth, j.Matrix,
		j.Prompt, j.Mentions, j.Agent, j.ModelName, names(j.Fallback), j.Sampling, d.digest, j.Limits,
		j.Setup, j.SetupEnv, j.Verify, j.Baseline, j.Attempts, j.RequireChanges, j.Change, j.Commit, j.Publish, j.Pull, j.Comment, needs,
		j.Skip, j.If.Left(),
	)
	if j.Script != nil { // so that other plans keep their hash
		hash = digest(hash, j.Script.SHA256)
	}
	return hash
}

// names returns what models are called, without where their files are.
func names(models []Model) []string {
	all := make([]string, len(models))
	for i, m := range models {
		all[i] = m.Name
	}
	return all
}

// hashForAnyRun gives a plan that names its run, and its jobs, the hashes that they have in every run.
func hashForAnyRun(p *Plan, ctx context.Context, paths []string, o Options) error {
	o.RunID = anyRun
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
func takeShard(p *Plan, s Shard) {
	if s == (Shard{}) {
		return
	}
	of := ShardOf(p, s.Total)
	p.Shard = s
	p.Jobs, p.Elsewhere = partition(p.Jobs, func(j Job) bool { return of[j.ID] == s.Index })
}
