package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
)

// Failed writes failed.txt: the repositories of the jobs that are worth running
// again, each once, in the order of the plan, as a list that a manifest can
// name under repos. A repository without a location, or with one that does not
// fit on a line, is left out.
func Failed(w io.Writer, r *Report) error {
	lines := []string{"# The repositories of jobs that did not pass: a list for `repos: [{file: ...}]`."}
	listed := map[string]bool{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if !j.worthAgain() || listed[j.location] || j.location == "" || strings.ContainsAny(j.location, "\r\n") {
			continue
		}
		listed[j.location] = true
		lines = append(lines, j.location)
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("write the list of failed repositories: %w", err)
	}
	return nil
}

// worthAgain tells whether a job has not done what it was to do. One that was
// skipped by decision, of its condition or because its branch is there, has.
func (j *Job) worthAgain() bool {
	switch j.Outcome {
	case event.Passed:
		return false
	case event.Skipped:
		return !slices.Contains([]event.Code{event.CodeCondition, event.CodeBranchExists}, j.ReasonCode)
	default:
		return true
	}
}
