package expand

import (
	"slices"

	"github.com/millhand/millhand/tasks"
	"github.com/millhand/millhand/tasks/form"
)

// hashPlan identifies what a plan does. It leaves out what differs between machines
// without changing that: absolute directories, positions of rules, the names of the
// manifests, and the ids of jobs, which may hold the name of the current
// directory. It also leaves out how many jobs run concurrently and the run's
// budget: a run that exceeded its budget is resumed with a larger one.
func hashPlan(p *tasks.Plan, shared *sharedDefinitions) string {
	jobs := make([]string, len(p.Jobs))
	for i, j := range p.Jobs {
		jobs[i] = j.Hash
	}
	hash := tasks.Digest(p.AllowDirty, p.AllowUnknownPrice, p.Prices, jobs, shared.digest(p.Evidence), p.Batch, p.Output)
	return withNew(hash, p, planFields)
}

// digest identifies what jobs have beside what they state themselves.
func (d *sharedDefinitions) digest(evidence *tasks.Evidence) string {
	skills := make([]string, len(d.skills))
	for i, s := range d.skills {
		skills[i] = s.Written
	}
	if len(d.servers) > 0 { // so that other plans keep their hash
		skills = append(skills, tasks.Digest(form.Digests(d.servers)))
	}
	if scripts := hashScripts(d.scripts); scripts != nil {
		skills = append(skills, tasks.Digest(scripts))
	}
	if len(d.hooks) > 0 {
		skills = append(skills, tasks.Digest("hooks", form.Digests(d.hooks)))
	}
	if len(d.languageServers) > 0 {
		skills = append(skills, tasks.Digest(form.Digests(d.languageServers), diagnosticsWait(d.manifests)))
	}
	if evidence != nil {
		skills = append(skills, tasks.Digest("evidence", evidence.Sign))
	}
	return tasks.Digest(form.Digests(d.providers.endpoints), form.Digests(d.agents.defined), form.Digests(d.search), form.Digests(d.tools), skills)
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
		j.Prompt, j.Mentions, j.Agent, j.ModelName, modelsAsWritten(j.Fallback), j.Sampling, d.digest, j.Limits,
		j.Setup, j.SetupEnv, j.Verify, j.Baseline, j.Attempts, j.RequireChanges, j.Change, j.Commit, j.Publish, j.Pull, j.Comment, needs,
		j.Skip, j.If.Left(),
	)
	if j.Script != nil { // so that other plans keep their hash
		hash = tasks.Digest(hash, j.Script.SHA256)
	}
	if len(j.Escalate) > 0 {
		hash = tasks.Digest(hash, "escalate", modelsAsWritten(j.Escalate))
	}
	if r := j.Review; r != nil {
		hash = tasks.Digest(hash, "review", r.Model.Name, r.Agent, r.Prompt, r.Block)
	}
	return withNew(hash, j, jobFields)
}

// modelsAsWritten returns what models are called, without where their files are.
func modelsAsWritten(models []tasks.Model) []string {
	all := make([]string, len(models))
	for i, m := range models {
		all[i] = m.Name
	}
	return all
}

// hashScripts identifies the tool files and plugins; nil without any.
func hashScripts(d scriptDefinitions) []string {
	if !d.settings.Is.Used() {
		return nil
	}
	return slices.Concat(form.Digests(d.files), form.Digests(d.plugins), []string{d.settings.Digest})
}
