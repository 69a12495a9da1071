package expand

import (
	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// hash identifies what a plan does. It leaves out what differs between machines
// without changing that: absolute directories, positions of rules, the names of the
// manifests, and the ids of jobs, which may hold the name of the current
// directory. It also leaves out how many jobs run concurrently and the run's
// budget: a run that exceeded its budget is resumed with a larger one.
func (b *builder) hash(p *tasks.Plan) string {
	jobs := make([]string, len(p.Jobs))
	for i, j := range p.Jobs {
		jobs[i] = j.Hash
	}
	hash := tasks.Digest(p.AllowDirty, p.AllowUnknownPrice, p.Prices, jobs, b.hashEquipment(p), p.Batch, p.Output)
	return withNew(hash, p, planFields)
}

// hashEquipment identifies what jobs have beside what they say themselves.
func (b *builder) hashEquipment(p *tasks.Plan) string {
	skills := make([]string, len(b.shared.skills))
	for i, s := range b.shared.skills {
		skills[i] = s.Written
	}
	if len(b.shared.servers) > 0 { // so that other plans keep their hash
		skills = append(skills, tasks.Digest(form.Digests(b.shared.servers)))
	}
	if scripts := hashScripts(b.shared.scripts); scripts != nil {
		skills = append(skills, tasks.Digest(scripts))
	}
	if len(b.shared.hooks) > 0 {
		skills = append(skills, tasks.Digest("hooks", form.Digests(b.shared.hooks)))
	}
	if len(b.shared.languageServers) > 0 {
		skills = append(skills, tasks.Digest(form.Digests(b.shared.languageServers), diagnosticsWait(b.manifests)))
	}
	if p.Evidence != nil {
		skills = append(skills, tasks.Digest("evidence", p.Evidence.Sign))
	}
	return tasks.Digest(form.Digests(b.shared.endpoints), form.Digests(b.shared.agents), form.Digests(b.shared.search), form.Digests(b.shared.tools), skills)
}

// hash identifies what a job does, by the fields that jobFields decides on.
func (d *draft) hash() string {
	j := &d.job
	var needs []string
	for _, n := range d.task.Needs {
		needs = append(needs, n.S)
	}
	hash := tasks.Digest(
		j.Task, j.Repo.Kind, d.repo.Written, j.Repo.Ref, j.Repo.Depth, j.Matrix,
		j.Prompt, j.Mentions, j.Agent, j.ModelName, names(j.Fallback), j.Sampling, d.digest, j.Limits,
		j.Setup, j.SetupEnv, j.Verify, j.Baseline, j.Attempts, j.RequireChanges, j.Change, j.Commit, j.Publish, j.Pull, j.Comment, needs,
		j.Skip, j.If.Left(),
	)
	if j.Script != nil { // so that other plans keep their hash
		hash = tasks.Digest(hash, j.Script.SHA256)
	}
	return withNew(hash, j, jobFields)
}

// names returns what models are called, without where their files are.
func names(models []tasks.Model) []string {
	all := make([]string, len(models))
	for i, m := range models {
		all[i] = m.Name
	}
	return all
}
