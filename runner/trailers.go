package runner

import (
	"strings"

	"github.com/millhand/millhand/internal/textcut"
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
	m := Made{Task: finishes(message, j, base)}
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(line)
		m.Job = m.Job || line == jobTrailer+j.ID
		m.Rollout = m.Rollout || line == strings.TrimSpace(rolloutTrailer+textcut.OneLine(textcut.Plain(plan.Name)))
		m.WIP = m.WIP || strings.HasPrefix(line, wipTrailer)
	}
	return m
}
