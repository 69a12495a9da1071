package summary

import (
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/excerpt"
)

// compared is a verify command before and after the agent's work.
type compared struct {
	name   string
	before report.Baseline
	after  *report.Verify // nil if it did not run
}

// compare returns the verify commands with a result before the agent started.
func compare(j *report.Job) []compared {
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
func (p *page) addCompared(jobs []report.Job) {
	var rows []string
	same, fixed := 0, 0
	for i := range jobs {
		j := &jobs[i]
		if notBegun(j) {
			continue
		}
		for _, c := range compare(j) {
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
func notBegun(j *report.Job) bool {
	return j.ReasonCode == event.CodeEnvironment || j.ReasonCode == event.CodeBaseline
}

// addNotBegun adds the jobs that ended with a code, grouped by reason.
func (p *page) addNotBegun(jobs []report.Job, code event.Code, title string) {
	var first []*report.Job // of each reason
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
		p.add(fmt.Sprintf("%s%s: %s\n\n", strings.Join(names, ", "), more, inline(excerpt.Head(j.Reason, maxReason))))
		for _, b := range j.Baseline {
			if !b.Passed && b.Tail != "" {
				p.add(fmt.Sprintf("Verify %s: %s\n\n%s\n", codeDetail(b.Name), b.Result(), fence("text", excerpt.Tail(b.Output(), maxTail))))
			}
		}
	}
}
