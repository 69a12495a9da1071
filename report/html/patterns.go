package html

import (
	"fmt"
	"net/url"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report/patterns"
)

// Limits of the patterns on the page.
const (
	maxPatterns = 50
	maxToRead   = 500 // jobs
	maxWhy      = 10  // reasons of one
	maxRepos    = 100 // named for a pattern
)

// patterns shows the jobs to read and the edits that repositories share.
func (p *page) patterns() g.Node {
	r := p.found
	if r == nil || !r.Compared {
		return nil
	}
	about := fmt.Sprintf("%s in %d repositories. Read the changes of %d (%d %%), and one example of each pattern.",
		figures.Count(r.Jobs, "job"), r.Repositories, r.ToRead, (100*r.ToRead+r.Repositories/2)/r.Repositories)
	content := []g.Node{h.H2(g.Text("Review by pattern")), h.P(g.Text(about)), toRead(r)}
	var list []g.Node
	for i := range r.Patterns[:min(r.Common, maxPatterns)] {
		list = append(list, pattern(&r.Patterns[i], r))
	}
	if len(list) > 0 {
		content = append(content, h.H3(g.Text(figures.Count(r.Common, "pattern"))), g.Group(list))
	}
	if more := r.Common - maxPatterns; more > 0 {
		content = append(content, h.P(g.Text(figures.Count(more, "other pattern")+" in the result of "), h.Code(g.Text("millhand report patterns")), g.Text(".")))
	}
	return h.Section(h.Class("patterns"), g.Group(content))
}

// toRead lists the jobs to read, with the reasons.
func toRead(r *patterns.Result) g.Node {
	if len(r.Reading) == 0 {
		return nil
	}
	var items []g.Node
	for _, one := range r.Reading[:min(len(r.Reading), maxToRead)] {
		var why []g.Node
		for _, reason := range one.Reasons[:min(len(one.Reasons), maxWhy)] {
			why = append(why, h.Li(whyOf(reason)...))
		}
		if more := len(one.Reasons) - maxWhy; more > 0 {
			why = append(why, h.Li(g.Text(fmt.Sprintf("and %d more", more))))
		}
		items = append(items, h.Li(h.Strong(job(one.Job)), g.If(one.URL != "", g.Group{g.Text(" "), address(one.URL)}), h.Ul(why...)))
	}
	if more := len(r.Reading) - maxToRead; more > 0 {
		items = append(items, h.Li(g.Text(figures.Count(more, "other job"))))
	}
	return h.Details(h.Class("read"), g.If(len(r.Reading) <= maxNamed, g.Attr("open")),
		h.Summary(h.H3(g.Text(figures.Count(len(r.Reading), "job")+" to read"))), h.Div(h.Ul(items...)))
}

func whyOf(r patterns.Reason) []g.Node {
	return []g.Node{h.Span(h.Class("badge "+toneOf(r.Kind)), text(string(r.Kind))), g.Text(" "), code(r.Location()), g.Text(" "), text(cut(r.Detail, 300))}
}

// toneOf is the class of the colour of a reason.
func toneOf(k patterns.Kind) string {
	switch k {
	case patterns.Unread, patterns.Tests, patterns.Modes:
		return "bad"
	case patterns.Dependencies, patterns.Suppressions, patterns.Binary, patterns.Conditions, patterns.Errors:
		return "warn"
	case patterns.Rare:
	}
	return "calm"
}

// job is the name of a job, which opens its details.
func job(id string) g.Node { return h.A(h.Href("#job="+url.PathEscape(id)), text(id)) }

// pattern shows a shape with its example and its repositories.
func pattern(one *patterns.Pattern, r *patterns.Result) g.Node {
	share := float64(len(one.Repositories)) / float64(r.Repositories)
	e := one.Example
	content := []g.Node{h.P(g.Text("Example: "), job(e.Job), g.Text(" "), code(e.Location()), g.If(e.URL != "", g.Group{g.Text(" "), address(e.URL)}))}
	if e.Diff != "" {
		content = append(content, lines(e.Diff))
	}
	content = append(content, h.P(h.Class("note"), text(names(one.Repositories, maxRepos, "repository"))))
	return h.Details(g.If(one.Number <= 3, g.Attr("open")),
		h.Summary(h.Span(h.Class("n"), g.Text(fmt.Sprint(one.Number))), g.Text(" "), code(cut(one.Shape, 300)), h.Span(h.Class("note"), g.Text(fmt.Sprintf(" %d repositories, %s", len(one.Repositories), figures.Count(one.Edits, "edit")))), meter(share)),
		h.Div(content...))
}
