package summary

import (
	"fmt"

	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/excerpt"
)

// maxNotes is the maximum number of lines about the hunks of a job.
const maxNotes = 20

// addHunks adds which hunks of the changes the verify commands need.
func (p *page) addHunks(jobs []report.Job) {
	first := true
	for i := range jobs {
		j := &jobs[i]
		if j.Hunks == nil {
			continue
		}
		if first {
			p.add("### Hunks\n\n")
			first = false
		}
		p.add(fmt.Sprintf("%s: %s.\n", codeDetail(j.ID), inline(j.Hunks.Line())))
		if j.Hunks.Reason != "" {
			p.add("Not tried: " + inline(excerpt.Head(j.Hunks.Reason, maxReason)) + ".\n")
		}
		notes := j.Hunks.Notes()
		for _, n := range notes[:min(len(notes), maxNotes)] {
			p.add(fmt.Sprintf("- %s: %s\n", n.What, codeDetail(n.About)))
		}
		if more := len(notes) - maxNotes; more > 0 {
			p.add(fmt.Sprintf("- %d more in report.json\n", more))
		}
		p.add("\n")
	}
}

// hunks writes which hunks of the changes the verify commands need.
func (s *shown) hunks(j *report.Job) {
	if j.Hunks == nil {
		return
	}
	s.title("hunks")
	s.facts("result", j.Hunks.Line())
	s.facts("not tried", j.Hunks.Reason)
	for _, n := range j.Hunks.Notes() {
		fmt.Fprintf(s, "  %s: %s\n", n.What, printable.Plain(n.About))
	}
}
