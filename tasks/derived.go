package tasks

import (
	"slices"
	"time"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/permission"
)

// withJobs returns the plan with jobs that are changed.
func (p *Plan) withJobs(change func(*Job)) *Plan {
	other := *p
	other.Jobs = slices.Clone(p.Jobs)
	for i := range other.Jobs {
		change(&other.Jobs[i])
	}
	return &other
}

// Under returns the plan with no more than a profile allows.
func (p *Plan) Under(most permission.Profile) *Plan {
	return p.withJobs(func(j *Job) { j.Profile = j.Profile.Under(most) })
}

// WithOutput returns the plan with the file for the final message of its jobs.
func (p *Plan) WithOutput(to OutputFile) *Plan { return p.withJobs(func(j *Job) { j.Output = to }) }

// WithJobCost returns the plan with a lower limit of the cost of the jobs that are selected.
func (p *Plan) WithJobCost(most money.USD, selects func(id string) bool) *Plan {
	return p.withJobs(func(j *Job) {
		if selects(j.ID) && (j.Limits.CostUSD == 0 || most < j.Limits.CostUSD) {
			j.Limits.CostUSD = most
		}
	})
}

// WithCost returns the plan with another budget for its cost.
func (p *Plan) WithCost(most money.USD) *Plan {
	other := *p
	other.Budget.CostUSD = most
	return &other
}

// WithParallel returns the plan with another number of jobs that run concurrently, and a note why.
func (p *Plan) WithParallel(jobs int, note string) *Plan {
	other := *p
	other.Parallel, other.Notes = jobs, append(slices.Clone(p.Notes), note)
	return &other
}

// WithForges returns the plan with other git hosts.
func (p *Plan) WithForges(all []Forge) *Plan {
	other := *p
	other.Forges = all
	return &other
}

// Only returns the plan with the jobs that are selected, as they are.
func (p *Plan) Only(selects func(id string) bool) *Plan {
	other := *p
	other.Jobs = slices.DeleteFunc(slices.Clone(p.Jobs), func(j Job) bool { return !selects(j.ID) })
	return &other
}

// Wave returns the plan with the jobs that are selected. They need only one another: other jobs have
// passed.
func (p *Plan) Wave(selects func(id string) bool) *Plan {
	return p.Only(selects).withJobs(func(j *Job) {
		j.Needs = slices.DeleteFunc(slices.Clone(j.Needs), func(id string) bool { return !selects(id) })
	})
}

// OneJob returns the plan as a shard with the job at an index, for a worker that runs each job by itself:
// what it needs has passed. It has no lists of repositories, which the events of each job would repeat.
// left is what is left of the plan's time; it is not used if that is not limited.
func (p *Plan) OneJob(i int, left time.Duration) *Plan {
	one := *p
	j := p.Jobs[i]
	j.Needs = nil
	one.Jobs, one.Elsewhere, one.Sources, one.Parallel = []Job{j}, nil, nil, 1
	one.Shard = Shard{Index: i + 1, Total: len(p.Jobs)}
	if one.Budget.Time > 0 {
		one.Budget.Time = max(left, time.Nanosecond)
	}
	return &one
}

// Fork returns the plan with one of its jobs only, which commits to a new branch.
func (p *Plan) Fork(j Job, branch string) *Plan {
	commit := Commit{}
	if j.Commit != nil {
		commit = *j.Commit
	}
	commit.Branch, commit.IfExists = branch, FailIfExists
	j.Commit, j.Needs = &commit, nil
	fork := *p
	fork.Jobs, fork.Elsewhere, fork.Shard = []Job{j}, nil, Shard{}
	return &fork
}

// Question returns the plan with a job that only asks its model: there are no programs beside it.
func (p *Plan) Question(j Job) *Plan {
	other := *p
	other.Jobs = []Job{j}
	other.MCP, other.Scripts, other.Tools, other.LSP, other.Hooks = nil, Scripts{}, nil, nil, nil
	return &other
}

// Trial returns the plan with other jobs, and only the hooks that prepare a job and see its changes.
func (p *Plan) Trial(jobs []Job) *Plan {
	other := *p
	other.Jobs = jobs
	other.Hooks = slices.DeleteFunc(slices.Clone(p.Hooks), func(h Hook) bool { return h.On != JobStart && h.On != BeforeCommit })
	return &other
}

// Release drops what the plan has, and its jobs in the plans that were made of it without changing jobs, so
// that their memory is free. Nobody reads them later.
func (p *Plan) Release() {
	clear(p.Jobs)
	*p = Plan{}
}
