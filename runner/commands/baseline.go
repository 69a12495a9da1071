package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/files"
	"github.com/millhand/millhand/runner/ending"
	"github.com/millhand/millhand/tasks"
)

// Judge returns the stop of a job that does not start because of the results; nil if it
// does.
func Judge(want tasks.Baseline, results []event.Baseline) *ending.Stop {
	var failed []string
	for _, b := range results {
		if b.Fault != nil {
			return &ending.Stop{Code: event.CodeEnvironment, Detail: fmt.Sprintf(
				"verify %s can't run here, whatever the agent does: %s (%s missing); %s; or set baseline: skip if the task itself adds what is missing",
				b.Name, b.Fault.Evidence, b.Fault.Kind, b.Fault.Fix)}
		}
		if b.TimeoutMS > 0 && want != tasks.BaselineMustFail {
			return &ending.Stop{Code: event.CodeEnvironment, Detail: fmt.Sprintf(
				"verify %s %s before the agent started: this machine is too slow for it, or it hangs; set a longer time:, or baseline: must_fail if the task is to fix that, or baseline: skip", b.Name, b.Exit())}
		}
		if !b.Passed {
			failed = append(failed, b.Name)
		}
	}
	switch {
	case want == tasks.BaselineMustFail && len(failed) == 0:
		return &ending.Stop{Code: event.CodeBaseline, Detail: "baseline must_fail: every verify command passes before the agent starts, so there is nothing to fix, or the commands don't show it"}
	case want == tasks.BaselineMustPass && len(failed) > 0:
		return &ending.Stop{Code: event.CodeBaseline, Detail: fmt.Sprintf("baseline must_pass: verify %s fails before the agent starts: fix it first, or set baseline: run", strings.Join(failed, ", "))}
	}
	return nil
}

// maxBaselines is the maximum number of failed commands with their output in the prompt.
const maxBaselines = 5

// BaselineText lists for the model which verify commands fail before it starts; "" if none
// does. Complete outputs are in a report directory.
func BaselineText(results []event.Baseline, reports *files.Dir) string {
	failed := slices.DeleteFunc(slices.Clone(results), func(b event.Baseline) bool { return b.Passed })
	if len(failed) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\nBefore your changes, these verify commands of the task fail (%d of %d):\n", len(failed), len(results))
	for i, f := range failed {
		tail := ""
		if i < maxBaselines {
			tail = "\n" + strings.Trim(WithOutput(reports, f.Tail, f.OutputPath), "\n")
		}
		fmt.Fprintf(&b, "\n<check name=%q result=%q>%s\n</check>\n", f.Name, f.Exit(), tail)
	}
	return b.String()
}
