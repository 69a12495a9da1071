package compared

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/app/patterns"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report/excerpt"
)

// Limits of the patterns in texts; report patterns --json has all of them.
const (
	maxPatterns  = 50
	maxWhy       = 8   // reasons of one
	maxWhyDetail = 300 // bytes
)

// terminal writes patterns for a terminal: first the jobs to read. paint adds the colours of a style.
func terminal(w io.Writer, r *patterns.Result, paint func(printable.Style, string) string) error {
	var s bytes.Buffer
	title := func(text string) { fmt.Fprintf(&s, "\n%s\n", paint(printable.Heading, text)) }
	fmt.Fprintf(&s, "%s\n", printable.Plain(sentence(r)))
	if len(r.Reading) > 0 {
		title("To read")
	}
	for _, g := range r.Reading {
		fmt.Fprintf(&s, "  %s\n", printable.Plain(g.Job+" "+g.URL))
		for _, why := range g.Reasons[:min(len(g.Reasons), maxWhy)] {
			fmt.Fprintf(&s, "    %s %s: %s\n", paint(printable.Aside, fmt.Sprintf("%-12s", why.Kind)), printable.Plain(why.Location()), printable.Plain(excerpt.Head(why.Detail, maxWhyDetail)))
		}
		if more := len(g.Reasons) - maxWhy; more > 0 {
			fmt.Fprintf(&s, "    and %d more\n", more)
		}
	}
	for i, p := range r.Patterns[:min(r.Common, maxPatterns)] {
		if i == 0 {
			title("Patterns")
		}
		fmt.Fprintf(&s, "  %s\n", paint(printable.Heading, fmt.Sprintf("%d of %d: %s", p.Number, r.Common, printable.Plain(excerpt.Head(p.Shape, maxWhyDetail)))))
		fmt.Fprintf(&s, "    %s in %s, such as %s %s\n", figures.Count(p.Edits, "edit"), countRepos(len(p.Repositories)), printable.Plain(p.Example.Job), printable.Plain(p.Example.Location()))
		for line := range strings.Lines(p.Example.Diff) {
			style := printable.Bad
			if strings.HasPrefix(line, "+") {
				style = printable.Good
			}
			fmt.Fprintf(&s, "      %s\n", paint(style, diffLine(line)))
		}
	}
	if more := r.Common - maxPatterns; more > 0 {
		fmt.Fprintf(&s, "  and %s; --json has all of them\n", figures.Count(more, "other pattern"))
	}
	if _, err := s.WriteTo(w); err != nil {
		return fmt.Errorf("write the patterns: %w", err)
	}
	return nil
}

// diffLine formats a line of a diff for a terminal, with its indentation.
func diffLine(line string) string {
	content := strings.ReplaceAll(line[min(1, len(line)):], "\t", "    ")
	indent := len(content) - len(strings.TrimLeft(content, " "))
	return line[:min(1, len(line))] + strings.Repeat(" ", min(indent, 40)) + printable.Plain(content)
}

func countRepos(n int) string {
	if n == 1 {
		return "1 repository"
	}
	return fmt.Sprintf("%d repositories", n)
}

// sentence sums up patterns.
func sentence(r *patterns.Result) string {
	others := ""
	if r.OtherJobs > 0 {
		others = fmt.Sprintf(" %s did not pass or changed nothing.", figures.Count(r.OtherJobs, "other job"))
	}
	switch {
	case r.Jobs == 0:
		return "No job has changes." + others
	case !r.Compared:
		return fmt.Sprintf("%s in %s: changes are only compared from %d repositories on, so read all of them.%s", figures.Count(r.Jobs, "job"), countRepos(r.Repositories), patterns.Common, others)
	}
	return fmt.Sprintf("%s in %s, %s of edits. Read the changes of %s, and one example of each pattern.%s",
		figures.Count(r.Jobs, "job"), countRepos(r.Repositories), figures.Count(r.Common, "pattern"), countRepos(r.ToRead), others)
}
