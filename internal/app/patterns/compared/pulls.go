package compared

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/millhand/millhand/internal/app/patterns"
	"github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/report"
)

// Limits of the patterns in a description.
const (
	maxListed  = 10
	maxReasons = 10
	maxShape   = 120 // characters
	maxText    = 4_000
)

// PullTexts returns what the descriptions of pull requests get of a run that has ended, by the ids of its jobs.
func PullTexts(files fs.FS, r *report.Report) (of func(job string) string) {
	found := Of(files, r)
	return func(job string) string { return textOf(found, job) }
}

// textOf returns what a reviewer of a job's change needs to know of its run: which of the
// edits other repositories share, and what needs reading. It is empty for a job that was not
// compared.
func textOf(r *patterns.Result, job string) string {
	if !r.Compared {
		return ""
	}
	var lines []string
	more := 0
	for i := range r.Patterns[:r.Common] {
		p := &r.Patterns[i]
		switch {
		case !p.Has(job):
		case len(lines) == maxListed:
			more++
		default:
			lines = append(lines, sameElsewhere(p, r.Common, job))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", more))
	}
	for _, g := range r.Reading {
		if g.Job != job {
			continue
		}
		for _, reason := range g.Reasons[:min(len(g.Reasons), maxReasons)] {
			lines = append(lines, fmt.Sprintf("- **To read** (%s): %s %s", reason.Kind, span(reason.Location()), span(reason.Detail)))
		}
		if more := len(g.Reasons) - maxReasons; more > 0 {
			lines = append(lines, fmt.Sprintf("- and %d more to read", more))
		}
	}
	return textcut.Head(strings.Join(lines, "\n"), maxText, "\n\n[truncated]")
}

// sameElsewhere describes one pattern of a job.
func sameElsewhere(p *patterns.Pattern, of int, job string) string {
	others := len(p.Repositories) - 1
	noun := "repositories"
	if others == 1 {
		noun = "repository"
	}
	text := fmt.Sprintf("- Pattern %d of %d, the same in %d other %s: %s", p.Number, of, others, noun, span(p.Shape))
	const label = "example"
	if p.Example.Job == job {
		return text + " (this is the example)"
	}
	if example := markdown.Hyperlink(label, p.Example.URL); example != label {
		return text + " (" + example + ")"
	}
	return text + " (example: job " + span(p.Example.Job) + ")"
}

// span returns a short text as a code span, in which forges act on nothing.
func span(s string) string {
	return "`" + strings.NewReplacer("`", "'", "<!--", "<! --").Replace(printable.Line(s, maxShape)) + "`"
}
