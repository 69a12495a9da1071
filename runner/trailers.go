package runner

import (
	"strings"

	"github.com/millhand/millhand/tasks"
)

// Made is what the trailers of a commit show about a job.
type Made struct {
	Job  bool // the commit was made for the job
	Task bool // with its present prompt
	WIP  bool // by a run in which the job did not finish
}

// MadeFor returns what the message of a commit on a base shows about a job.
func MadeFor(j tasks.Job, message, base string) Made {
	m := Made{Task: finishes(message, j, base)}
	for line := range strings.Lines(message) {
		m.Job = m.Job || strings.TrimSpace(line) == jobTrailer+j.ID
		m.WIP = m.WIP || strings.HasPrefix(line, wipTrailer)
	}
	return m
}
