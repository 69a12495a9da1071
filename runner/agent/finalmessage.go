package agent

import (
	"github.com/millhand/millhand/internal/session"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/runner/requests"
	"github.com/millhand/millhand/tasks"
)

// FinalSchema returns the schema of the final message of a job; nil for any message.
func FinalSchema(j tasks.Job) map[string]any {
	if j.Requests == nil {
		return j.Schema
	}
	return requests.Schema(*j.Requests, j.Schema)
}

// Take adds the end of the job's own session to the result of the job.
func Take(j tasks.Job, last session.End, to *ending.Result) {
	if last.Text != "" {
		to.Final = last.Text
	}
	to.Output, to.Requests = last.Output, nil
	if j.Requests != nil && last.Output != nil {
		to.Final, to.Output, to.Requests = requests.Split(last.Output, j.Schema != nil)
	}
}
