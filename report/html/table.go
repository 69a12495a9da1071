package html

import (
	"fmt"
	"io"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report"
)

// firstRows is the number of jobs in the table when the page opens. A browser needs more time for the rows of
// thousands of jobs than for all else.
const firstRows = 100

// jobs is the table of jobs, with what the script needs to sort, filter and group it. Rows after the first
// are in a noscript element: they are a table for readers without scripts, and a text, which costs a browser
// nothing, for the script, which adds them when they are scrolled to or searched.
func (p *page) jobs() g.Node {
	if len(p.r.Jobs) == 0 {
		return h.Section(h.H2(g.Text("Jobs")), h.P(g.Text("No jobs.")))
	}
	first := min(len(p.r.Jobs), firstRows)
	return h.Section(
		h.H2(g.Text("Jobs")),
		h.Div(h.Class("controls"), h.ID("controls"), g.Attr("hidden"), // one job needs none
			h.Label(g.Text("Filter "), h.Input(h.Type("search"), h.ID("filter"), h.Placeholder("job, repository, outcome"), g.Attr("autocomplete", "off"))),
			h.Label(g.Text("Outcome "), h.Select(h.ID("outcome"), h.Option(h.Value(""), g.Text("all")))),
			h.Label(g.Text("Group by "), h.Select(h.ID("group"),
				h.Option(h.Value(""), g.Text("nothing")), h.Option(h.Value("outcome"), g.Text("outcome")),
				g.If(p.repos, h.Option(h.Value("repo"), g.Text("repository"))), g.If(p.tasks, h.Option(h.Value("task"), g.Text("task"))),
			)),
			h.Label(h.Class("sort"), g.Text("Sort by "), h.Select(h.ID("sort"), h.Option(h.Value("-1"), g.Text("outcome, worst first")))), // on phones, whose table has no head
			h.Span(h.ID("shown"), g.Attr("role", "status")),
		),
		g.El("noscript", h.P(g.Text("Details of jobs, sorting and filters require JavaScript."))),
		p.table("Jobs", 0, first, h.ID("jobs")),
		h.P(h.ID("more"), g.Attr("hidden"), h.Button(h.Type("button"))),
		g.If(first < len(p.r.Jobs), g.El("noscript", h.ID("rest"), h.Data("rows", strconv.Itoa(len(p.r.Jobs)-first)), p.table("Other jobs", first, len(p.r.Jobs), nil))),
	)
}

// table is the table of some jobs, from one position in their order to before another.
func (p *page) table(label string, from, to int, id g.Node) g.Node {
	rows := g.NodeFunc(func(w io.Writer) error { // one at a time: a row has dozens of nodes
		for _, i := range p.order[from:to] {
			if err := p.row(i, &p.r.Jobs[i]).Render(w); err != nil {
				return err
			}
		}
		return nil
	})
	return h.Div(h.Class("wide"), g.Attr("role", "region"), h.Aria("label", label), h.TabIndex("0"),
		h.Table(id, h.Class("jobs"), h.THead(h.Tr(p.columns()...)), h.TBody(rows)))
}

func (p *page) columns() []g.Node {
	column := func(name, class string) g.Node {
		return h.Th(g.Attr("scope", "col"), g.If(class != "", h.Class(class)), g.Text(name))
	}
	all := []g.Node{column("Outcome", ""), column("Job", "")}
	if p.repos {
		all = append(all, column("Repository", ""))
	}
	if p.tasks {
		all = append(all, column("Task", ""))
	}
	return append(all, column("Turns", "n"), column("Calls", "n"), column("Denied", "n"), column("Cost", "n"), column("Time", "n"), column("Changes", "n"), column("Result", ""))
}

// row is one job. The cells of numbers have the exact value for sorting.
func (p *page) row(i int, j *report.Job) g.Node {
	number := func(value int64, shown string) g.Node {
		return h.Td(h.Class("n"), h.Data("v", strconv.FormatInt(value, 10)), g.Text(shown))
	}
	cost := int64(-1)
	if j.CostUSD != nil {
		cost = int64(*j.CostUSD)
	}
	added, removed := 0, 0
	for _, c := range j.Changes {
		added, removed = added+c.Added, removed+c.Removed
	}
	changes := ""
	if len(j.Changes) > 0 {
		changes = fmt.Sprintf("+%d −%d", added, removed)
	}
	return h.Tr(h.Data("n", strconv.Itoa(i)),
		h.Td(badge(string(j.Outcome))),
		h.Th(g.Attr("scope", "row"), h.Button(h.Type("button"), h.Aria("expanded", "false"), text(j.ID))),
		g.If(p.repos, h.Td(text(j.Repo))),
		g.If(p.tasks, h.Td(text(j.Task))),
		number(int64(j.Turns), strconv.Itoa(j.Turns)),
		number(int64(j.CallCount()), strconv.Itoa(j.CallCount())),
		number(int64(len(j.Denied)), strconv.Itoa(len(j.Denied))),
		number(cost, money.Rounded(j.CostUSD)),
		number(j.ElapsedMS, figures.Duration(j.ElapsedMS)),
		number(int64(added+removed), changes),
		h.Td(result(j)),
	)
}

// result is where the work of a job is: a pull request, a branch, a patch.
func result(j *report.Job) g.Node {
	switch {
	case j.PullRequest != nil:
		return g.If(j.PullRequest.URL != "", linked(j.PullRequest.URL, fmt.Sprintf("#%d %s", j.PullRequest.Number, j.PullRequest.State)))
	case j.Commit != nil:
		return code(j.Commit.Branch)
	case j.Patch != "":
		return g.Text("patch")
	}
	return g.Text("")
}
