package tasks

// hash identifies what a plan does. It leaves out what differs between machines
// without changing that: absolute folders, where rules stand, the names of the
// manifests, and the ids of jobs, which may hold the name of the current
// folder. It also leaves out how many jobs run side by side and how much the
// run may take: a run that its budget ended is continued with a larger one.
func hash(p *Plan, drafts []*draft) string {
	jobs := make([]string, len(drafts))
	for i, d := range drafts {
		jobs[i] = d.hash()
	}
	return digest(p.AllowDirty, p.AllowUnknownPrice, p.Prices, jobs)
}

func (d *draft) hash() string {
	j := d.job
	var needs []string
	for _, n := range d.task.needs {
		needs = append(needs, n.s)
	}
	return digest(
		j.Task, j.Repo.Kind, d.repo.written, j.Repo.Ref, j.Matrix,
		j.Prompt, j.Agent, j.ModelName, d.digest, j.Limits,
		j.Setup, j.Verify, j.Attempts, j.RequireChanges, j.Commit, needs,
	)
}
