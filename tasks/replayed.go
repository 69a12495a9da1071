package tasks

import "slices"

// Replayed returns the job as a replay runs it: with a script's model, in a worktree of the commit that it started from,
// and with a patch as its only result. A copied repository is copied again.
func (j Job) Replayed(script, base string) Job {
	commit := Commit{}
	if j.Commit != nil {
		commit = *j.Commit
	}
	commit.Branch, commit.IfExists, commit.Sign = BranchPrefix+"replay", FailIfExists, SignNone
	if j.Commit = &commit; j.Repo.Kind != RepoCopy && base != "" {
		j.Repo.Ref = base
	}
	j.Model, j.Fallback, j.Needs, j.Context = "script:"+script, nil, nil, nil
	j.Publish, j.Pull, j.Comment, j.Requests, j.Later, j.Output = PublishPatch, nil, nil, nil, nil, OutputFile{}
	return j
}

// Replayed returns the plan with the jobs of a replay, whose agents all have the job's model.
func (p *Plan) Replayed(jobs []Job) *Plan {
	other := *p
	other.Jobs, other.Rollout, other.Elsewhere, other.Agents = jobs, nil, nil, slices.Clone(p.Agents)
	for i := range other.Agents {
		other.Agents[i].Model = nil
	}
	return &other
}
