package runner

import (
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/runner/trailers"
	"github.com/millhand/millhand/tasks"
)

// Made is what the trailers of a commit show about a job.
type Made struct {
	Job     bool // the commit was made for the job
	Rollout bool // by a run of the plan's rollout
	Task    bool // with the job's present prompt
	WIP     bool // by a run in which the job did not finish
}

// MadeFor returns what the message of a commit on a base shows about a job of a plan.
func MadeFor(plan *tasks.Plan, j tasks.Job, message, base string) Made {
	t := trailers.Read(message)
	return Made{
		Job: t.Has(trailers.Job, j.ID), Rollout: t.Has(trailers.Rollout, textcut.OneLine(textcut.Plain(plan.Name))),
		Task: t.Finishes(taskHash(j, base)), WIP: t.Unfinished(),
	}
}
