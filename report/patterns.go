package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report/patterns"
)

// Limits of the patterns in texts; report patterns --json has all of them.
const (
	maxPatterns  = 50
	maxToRead    = 100 // jobs
	maxWhy       = 8   // reasons of one
	maxWhyDetail = 300 // bytes
)

// PatternsText writes patterns for a terminal: first the jobs to read. paint adds the colours
// of a style.
func PatternsText(w io.Writer, r *patterns.Result, paint func(printable.Style, string) string) error {
	s := shown{paint: paint}
	fmt.Fprintf(&s, "%s\n", plain(patternsSentence(r)))
	if len(r.Reading) > 0 {
		s.title("To read")
	}
	for _, g := range r.Reading {
		fmt.Fprintf(&s, "  %s\n", plain(g.Job+" "+g.URL))
		for _, why := range g.Reasons[:min(len(g.Reasons), maxWhy)] {
			fmt.Fprintf(&s, "    %s %s: %s\n", s.paint(printable.Aside, fmt.Sprintf("%-12s", why.Kind)), plain(why.Location()), plain(head(why.Detail, maxWhyDetail)))
		}
		if more := len(g.Reasons) - maxWhy; more > 0 {
			fmt.Fprintf(&s, "    and %d more\n", more)
		}
	}
	for i, p := range r.Patterns[:min(r.Common, maxPatterns)] {
		if i == 0 {
			s.title("Patterns")
		}
		fmt.Fprintf(&s, "  %s\n", s.paint(printable.Heading, fmt.Sprintf("%d of %d: %s", p.Number, r.Common, plain(head(p.Shape, maxWhyDetail)))))
		fmt.Fprintf(&s, "    %s in %s, such as %s %s\n", figures.Count(p.Edits, "edit"), countRepos(len(p.Repositories)), plain(p.Example.Job), plain(p.Example.Location()))
		for line := range strings.Lines(p.Example.Diff) {
			style := printable.Bad
			if strings.HasPrefix(line, "+") {
				style = printable.Good
			}
			fmt.Fprintf(&s, "      %s\n", s.paint(style, diffLine(line)))
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
	return line[:min(1, len(line))] + strings.Repeat(" ", min(indent, 40)) + plain(content)
}

func countRepos(n int) string {
	if n == 1 {
		return "1 repository"
	}
	return fmt.Sprintf("%d repositories", n)
}

// patternsSentence sums up patterns.
func patternsSentence(r *patterns.Result) string {
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

// addPatterns adds the patterns of a run that changed several repositories.
func (p *page) addPatterns(r *patterns.Result) {
	if r == nil || !r.Compared {
		return
	}
	p.add("### Review by pattern\n\n" + inline(patternsSentence(r)) + "\n\n")
	p.addReading(r.Reading)
	if r.Common == 0 {
		return
	}
	p.add("| pattern | shape | repositories | edits | example |\n|--:|---|--:|--:|---|\n")
	for _, one := range r.Patterns[:min(r.Common, maxPatterns)] {
		p.add(fmt.Sprintf("| %d of %d | %s | %d | %d | %s %s |\n", one.Number, r.Common, codeDetail(head(one.Shape, maxWhyDetail)), len(one.Repositories), one.Edits, codeDetail(one.Example.Job), codeDetail(one.Example.Location())))
	}
	p.add("\n")
	if more := r.Common - maxPatterns; more > 0 {
		p.add(fmt.Sprintf("%s in the result of `millhand report patterns`.\n\n", figures.Count(more, "other pattern")))
	}
}

// addReading adds the jobs to read.
func (p *page) addReading(all []patterns.Reading) {
	for i, g := range all[:min(len(all), maxToRead)] {
		if i == 0 {
			p.add("To read:\n\n")
		}
		name := codeDetail(g.Job)
		if g.URL != "" {
			name += " " + codeDetail(g.URL)
		}
		var why []string
		for _, reason := range g.Reasons[:min(len(g.Reasons), maxWhy)] {
			why = append(why, inline(string(reason.Kind))+" "+codeDetail(reason.Location())+": "+codeDetail(head(reason.Detail, maxWhyDetail)))
		}
		if more := len(g.Reasons) - maxWhy; more > 0 {
			why = append(why, fmt.Sprintf("and %d more", more))
		}
		p.add("- " + name + ": " + strings.Join(why, "; ") + "\n")
	}
	if more := len(all) - maxToRead; more > 0 {
		p.add(fmt.Sprintf("- and %s\n", figures.Count(more, "other job")))
	}
	if len(all) > 0 {
		p.add("\n")
	}
}
