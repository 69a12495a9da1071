package tasks

import "slices"

// Replay is what the models of a replayed job respond, in files with scripts, and where it starts.
type Replay struct {
	Script   string   // of its model
	Escalate []string // of the models after it
	Review   string   // of the reviewer
	Base     string   // commit that it started from; "" for that of its repository
	Dir      string   // of a repository with the files that it started from in HEAD; "" for its own
	Borrows  []string // directories of objects that this repository borrows
}

// Replayed returns the job as a replay runs it: with scripts as models, in a worktree of the commit that it started from,
// and with a patch as its only result. A copied repository is copied again.
func (j Job) Replayed(r Replay) Job {
	commit := Commit{}
	if j.Commit != nil {
		commit = *j.Commit
	}
	commit.Branch, commit.IfExists, commit.Sign, commit.PullRequest = BranchPrefix+"replay", FailIfExists, SignNone, nil
	j.Commit = &commit
	switch {
	case r.Dir != "":
		j.Repo, j.Borrows = Repo{Name: j.Repo.Name, Kind: RepoPath, Dir: r.Dir}, r.Borrows
	case j.Repo.Kind != RepoCopy && r.Base != "":
		j.Repo.Ref = r.Base
	}
	j.Model, j.Fallback, j.Needs, j.Context = scripted(r.Script), nil, nil, nil
	escalate := make([]Model, len(r.Escalate))
	for i, script := range r.Escalate {
		escalate[i] = Model{ID: scripted(script), Name: j.Escalate[i].Name}
	}
	if j.Escalate = escalate; j.Review != nil {
		review := *j.Review
		review.Model = Model{ID: scripted(r.Review), Name: review.Model.Name}
		j.Review = &review
	}
	j.Publish, j.Pull, j.Comment, j.Requests, j.Later, j.Output = PublishPatch, nil, nil, nil, nil, OutputFile{}
	return j
}

func scripted(file string) string { return "script:" + file }

// Replayed returns the plan with the jobs of a replay, whose agents all have the job's model.
func (p *Plan) Replayed(jobs []Job) *Plan {
	other := *p
	other.Jobs, other.Rollout, other.Elsewhere, other.Agents = jobs, nil, nil, slices.Clone(p.Agents)
	for i := range other.Agents {
		other.Agents[i].Model = nil
	}
	return &other
}
