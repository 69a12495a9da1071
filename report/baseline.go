package report

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
)

// Baseline is the result of a verify command before the agent started. It does not say
// which of several jobs ran the command, which is a matter of moments.
type Baseline struct {
	Name      string       `json:"name"`
	Passed    bool         `json:"passed"`
	ExitCode  int          `json:"exit_code"` // -1 if it was killed or never started
	ElapsedMS int64        `json:"elapsed_ms"`
	Tail      string       `json:"tail"` // as in event.Verify
	In        string       `json:"in"`
	Fault     *event.Fault `json:"fault"` // nil if the environment is not why it failed

	TimeoutMS  int64  `json:"timeout_ms,omitempty"`  // like OutputPath, as in event.Verify
	OutputPath string `json:"output_path,omitempty"` // of this job
}

// Exit describes how the command ended.
func (b *Baseline) Exit() string { return event.ExitText(b.ExitCode, b.TimeoutMS) }

func (j *job) takeBaseline(e event.Event) {
	if j.baselineIn != j.in { // a job that starts again repeats it
		j.baseline, j.baselineIn = nil, j.in
	}
	b := e.Baseline
	j.baseline = append(j.baseline, Baseline{b.Name, b.Passed, b.ExitCode, b.ElapsedMS, b.Tail, b.In, clone(b.Fault), b.TimeoutMS, b.OutputPath})
}

// Result describes how the command ended.
func (b *Baseline) Result() string {
	if b.Passed {
		return "passed"
	}
	return "failed, " + b.Exit()
}

// Output is as in event.Verify.
func (b *Baseline) Output() string { return event.Excerpt(b.Tail, b.OutputPath) }

// compared is a verify command before and after the agent's work.
type compared struct {
	name   string
	before Baseline
	after  *Verify // nil if it did not run
}

// compare returns the verify commands with a result before the agent started.
func (j *Job) compare() []compared {
	var all []compared
	for _, b := range j.Baseline {
		c := compared{name: b.Name, before: b}
		for _, runs := range j.Verifies() {
			if last := runs[len(runs)-1]; last.Name == b.Name {
				c.after = &last
			}
		}
		all = append(all, c)
	}
	return all
}

// afterText describes the last run of a verify command.
func (c compared) afterText() string {
	switch {
	case c.after == nil:
		return "not run"
	case c.after.Passed:
		return "passed"
	}
	return "failed, " + c.after.Exit()
}

// maxCompared is the maximum number of rows of the table of verify commands.
const maxCompared = 200

// addCompared adds a table of the verify commands that failed before or after the
// agent's work.
func (p *page) addCompared(jobs []Job) {
	var rows []string
	same, fixed := 0, 0
	for i := range jobs {
		j := &jobs[i]
		if j.notBegun() {
			continue
		}
		for _, c := range j.compare() {
			if c.before.Passed && c.after != nil && c.after.Passed {
				same++
				continue
			}
			if len(jobs) > maxMessages && c.after != nil && c.after.Passed {
				fixed++
				continue
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |\n", codeDetail(j.ID), codeDetail(c.name), c.before.Result(), c.afterText()))
		}
	}
	if len(rows)+same+fixed == 0 {
		return
	}
	p.add("### Verify before and after\n\n")
	rest := "verify command"
	if len(rows) > 0 {
		rest = "other verify command"
		p.add("| job | verify | before | after |\n|---|---|---|---|\n" + strings.Join(rows[:min(len(rows), maxCompared)], "") + "\n")
	}
	if more := len(rows) - maxCompared; more > 0 {
		p.add(fmt.Sprintf("%d more in report.json.\n\n", more))
	}
	if fixed > 0 {
		p.add(figures.Count(fixed, "verify command") + " failed before and passed after.\n\n")
	}
	if same > 0 {
		p.add(figures.Count(same, rest) + " passed before and after.\n\n")
	}
}

// notBegun reports whether the job ended before the first model request, because of the
// result of its verify commands.
func (j *Job) notBegun() bool {
	return j.ReasonCode == event.CodeEnvironment || j.ReasonCode == event.CodeBaseline
}

// addNotBegun adds the jobs that ended with a code, grouped by reason.
func (p *page) addNotBegun(jobs []Job, code event.Code, title string) {
	var first []*Job // of each reason
	ids := map[string][]string{}
	count := 0
	for i := range jobs {
		j := &jobs[i]
		if j.ReasonCode != code {
			continue
		}
		count++
		if ids[j.Reason] == nil {
			first = append(first, j)
		}
		ids[j.Reason] = append(ids[j.Reason], codeDetail(j.ID))
	}
	if count == 0 {
		return
	}
	p.add(fmt.Sprintf("### %s\n\n%s ended before the first model request.\n\n", title, figures.Count(count, "job")))
	for _, j := range first {
		names := ids[j.Reason]
		more := ""
		if n := len(names) - maxDenied; n > 0 {
			names, more = names[:maxDenied], fmt.Sprintf(" and %d more", n)
		}
		p.add(fmt.Sprintf("%s%s: %s\n\n", strings.Join(names, ", "), more, inline(head(j.Reason, maxReason))))
		for _, b := range j.Baseline {
			if !b.Passed && b.Tail != "" {
				p.add(fmt.Sprintf("Verify %s: %s\n\n%s\n", codeDetail(b.Name), b.Result(), fence("text", tail(b.Output(), maxTail))))
			}
		}
	}
}
