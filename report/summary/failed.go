package summary

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/report"
)

// Failed writes failed.txt: the repositories of the jobs to run again, each once, in the
// order of the plan, as a list for repos in a manifest. It omits repositories whose
// location is unknown or has line breaks.
func Failed(w io.Writer, r *report.Report) error {
	lines := []string{"# The repositories of jobs that did not pass: a list for `repos: [{file: ...}]`."}
	listed := map[string]bool{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if !retryable(j) || listed[j.Location] || j.Location == "" || strings.ContainsAny(j.Location, "\r\n") {
			continue
		}
		listed[j.Location] = true
		lines = append(lines, j.Location)
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("write the list of failed repositories: %w", err)
	}
	return nil
}

// retryable reports whether the job should run again: not if it passed, or was skipped
// because of its condition or an existing branch.
func retryable(j *report.Job) bool {
	switch j.Outcome {
	case event.Passed:
		return false
	case event.Skipped:
		return !slices.Contains([]event.Code{event.CodeCondition, event.CodeBranchExists}, j.ReasonCode)
	default:
		return true
	}
}
