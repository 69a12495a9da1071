package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millhand/millhand/internal/forge"
	"github.com/millhand/millhand/internal/text/markdown"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/report/patterns"
)

// A pull request is opened before the other jobs of its run end. The markers are where its
// description gets the patterns of the run afterwards, if its template has them. Texts of models have no such markers:
// see unmarked.
const (
	patternsStart = "<!-- millhand:patterns -->"
	patternsEnd   = "<!-- /millhand:patterns -->"
)

// Limits of the patterns in a description.
const (
	maxPatterns     = 10
	maxReasons      = 10
	maxShape        = 120 // characters
	maxPatternsText = 4_000
)

// HasPatterns reports whether the template of a description has the patterns of the run.
func HasPatterns(body string) bool { return strings.Contains(body, "${{ patterns }}") }

// Patterns returns what a reviewer of a job's change needs to know of its run: which of the
// edits other repositories share, and what needs reading. It is empty for a job that was not
// compared.
func Patterns(r *patterns.Result, job string) string {
	if !r.Compared {
		return ""
	}
	var lines []string
	more := 0
	for i := range r.Patterns[:r.Common] {
		p := &r.Patterns[i]
		switch {
		case !p.Has(job):
		case len(lines) == maxPatterns:
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
	return textcut.Head(strings.Join(lines, "\n"), maxPatternsText, truncated)
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

// Annotate writes the patterns into the description of an open pull request that a run has
// published. It changes nothing if a person has removed the markers.
func Annotate(ctx context.Context, client *forge.Client, at forge.Path, number int64, text string) error {
	pr, err := client.Get(ctx, at, number)
	if errors.Is(err, forge.ErrNotFound) || err == nil && pr.State != forge.Open {
		return nil
	}
	if err != nil {
		return err
	}
	body, changed := annotated(pr.Body, text)
	if !changed {
		return nil
	}
	_, err = client.Update(ctx, at, number, forge.Change{Body: &body})
	return err
}

// annotated replaces the text between the last markers of a description: those before are of
// earlier runs.
func annotated(body, text string) (string, bool) {
	start := strings.LastIndex(body, patternsStart)
	if start < 0 {
		return body, false
	}
	from := start + len(patternsStart)
	length := strings.Index(body[from:], patternsEnd)
	if length < 0 {
		return body, false
	}
	after := body[:from] + "\n" + text + "\n" + body[from+length:]
	return after, text != "" && after != body
}
