package summary

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/report"
)

// Limits of the overview by repository and task.
const (
	maxColumns = 6         // tasks that have a column each
	maxRows    = 100       // repositories
	maxGrid    = 128 << 10 // bytes of it in the summary
	maxNamed   = 5         // tasks named in a line of a list
)

// grid has the outcomes of jobs by repository and task.
type grid struct {
	tasks   []string // in the order of the plan
	rows    []*gridRow
	columns []cell // over all repositories, by task; nil if there are too many tasks for columns
	all     cell
}

type gridRow struct {
	repo   string
	first  *report.Job // of the repository
	cells  []cell      // by task, like columns
	failed []string    // tasks of which a job failed
	all    cell
}

// cell has the totals of jobs.
type cell struct {
	passed, failed, skipped int
	outcome                 event.Outcome // of the last job
	cost                    money.Total
}

// newGrid returns nil for a run on a single repository. Repositories with
// failures come first, then those with skipped jobs.
func newGrid(jobs []report.Job) *grid {
	g := &grid{}
	for i := range jobs {
		if !slices.Contains(g.tasks, jobs[i].Task) && len(g.tasks) <= maxColumns {
			g.tasks = append(g.tasks, jobs[i].Task)
		}
	}
	if len(g.tasks) <= maxColumns {
		g.columns = make([]cell, len(g.tasks))
	}
	byRepo := map[string]*gridRow{}
	for i := range jobs {
		j := &jobs[i]
		row, ok := byRepo[j.Repo]
		if !ok {
			row = &gridRow{repo: j.Repo, first: j, cells: make([]cell, len(g.columns))}
			byRepo[j.Repo] = row
			g.rows = append(g.rows, row)
		}
		g.add(row, j)
	}
	if len(g.rows) < 2 {
		return nil
	}
	slices.SortStableFunc(g.rows, func(a, b *gridRow) int { return cmp.Compare(a.all.rank(), b.all.rank()) })
	return g
}

func (g *grid) add(row *gridRow, j *report.Job) {
	g.all.add(j)
	row.all.add(j)
	if g.columns != nil {
		at := slices.Index(g.tasks, j.Task)
		g.columns[at].add(j)
		row.cells[at].add(j)
	}
	if j.Outcome != event.Passed && j.Outcome != event.Skipped && !slices.Contains(row.failed, j.Task) {
		row.failed = append(row.failed, j.Task)
	}
}

func (c *cell) add(j *report.Job) {
	switch j.Outcome {
	case event.Passed:
		c.passed++
	case event.Skipped:
		c.skipped++
	default:
		c.failed++
	}
	c.outcome = j.Outcome
	c.cost.Add(j.CostUSD, 0)
}

func (c *cell) jobs() int { return c.passed + c.failed + c.skipped }

// rank orders rows: failures first.
func (c *cell) rank() int {
	switch {
	case c.failed > 0:
		return 0
	case c.skipped > 0:
		return 1
	default:
		return 2
	}
}

// describe formats the outcome of one job, or the numbers of several.
func (c *cell) describe() string {
	if c.jobs() == 1 {
		return string(c.outcome)
	}
	var words []string
	for _, item := range []struct {
		n    int
		name string
	}{{c.passed, "passed"}, {c.failed, "failed"}, {c.skipped, "skipped"}} {
		if item.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", item.n, item.name))
		}
	}
	return strings.Join(words, ", ")
}

// text formats the cell for a terminal.
func (c *cell) text() string {
	switch c.jobs() {
	case 0:
		return "-"
	case c.skipped:
		return c.describe()
	default:
		return c.describe() + " " + money.Rounded(c.cost.USD())
	}
}

// markdown formats the cell with an emoji.
func (c *cell) markdown() string {
	switch {
	case c.jobs() == 0:
		return ""
	case c.failed > 0:
		return "❌ " + c.text()
	case c.passed == 0:
		return "➖ " + c.text()
	case c.jobs() == 1:
		return "✅ " + money.Rounded(c.cost.USD())
	default:
		return "✅ " + c.text()
	}
}

// rest describes the omitted repositories.
func rest(rows []*gridRow) string {
	others := 0
	for _, row := range rows {
		if row.all.rank() < 2 {
			others++
		}
	}
	if others == 0 {
		return fmt.Sprintf("… and %d more that passed", len(rows))
	}
	return fmt.Sprintf("… and %d more, %d with jobs that did not pass", len(rows), others)
}

// addGrid adds the overview to the summary: a table or, with too many tasks
// for columns, a list.
func (p *page) addGrid(g *grid) {
	if g == nil {
		return
	}
	line, end := (*gridRow).bullet, func(text string) string { return "- " + text + "\n" }
	if g.columns != nil {
		p.add(g.markdownHead())
		line, end = (*gridRow).markdown, func(text string) string { return "| " + text + strings.Repeat(" |", len(g.tasks)+2) + "\n" }
	}
	limit, shown := p.b.Len()+maxGrid, 0
	for _, row := range g.rows[:min(len(g.rows), maxRows)] {
		text := line(row, repository(row.first, p.by))
		if p.b.Len()+len(text) > limit {
			break
		}
		p.add(text)
		shown++
	}
	if shown < len(g.rows) {
		p.add(end(rest(g.rows[shown:])))
	}
	total := gridRow{cells: g.columns, all: g.all}
	p.add(line(&total, "all") + "\n")
}

func (g *grid) markdownHead() string {
	names := []string{"| repo"}
	for _, task := range g.tasks {
		names = append(names, codeDetail(task))
	}
	return strings.Join(names, " | ") + " | cost |\n|---|" + strings.Repeat("---|", len(g.tasks)) + "--:|\n"
}

func (row *gridRow) markdown(name string) string {
	cells := []string{"| " + name}
	for i := range row.cells {
		cells = append(cells, row.cells[i].markdown())
	}
	return strings.Join(cells, " | ") + " | " + money.Rounded(row.all.cost.USD()) + " |\n"
}

func (row *gridRow) bullet(name string) string {
	text := "- " + name + ": " + row.all.markdown()
	if len(row.failed) == 0 {
		return text + "\n"
	}
	var named []string
	for _, task := range row.failed[:min(len(row.failed), maxNamed)] {
		named = append(named, codeDetail(task))
	}
	text += "; did not pass: " + strings.Join(named, ", ")
	if more := len(row.failed) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "\n"
}

// writeGrid writes the overview for a terminal.
func writeGrid(w io.Writer, g *grid) error {
	var rows bytes.Buffer
	fmt.Fprint(&rows, "\nREPO")
	if g.columns == nil {
		fmt.Fprint(&rows, "\tOUTCOME")
	} else {
		for _, task := range g.tasks {
			fmt.Fprint(&rows, "\t", printable.Plain(task))
		}
	}
	fmt.Fprintln(&rows, "\tCOST")
	shown := min(len(g.rows), maxRows)
	for _, row := range g.rows[:shown] {
		row.writeText(&rows, printable.Plain(row.repo))
	}
	(&gridRow{cells: g.columns, all: g.all}).writeText(&rows, "all")
	if shown < len(g.rows) {
		fmt.Fprintln(&rows, rest(g.rows[shown:])) // last, as it would be the widest name
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := rows.WriteTo(table); err != nil {
		return err
	}
	return table.Flush()
}

func (row *gridRow) writeText(w io.Writer, name string) {
	fmt.Fprint(w, name)
	if len(row.cells) == 0 {
		fmt.Fprint(w, "\t", row.all.text())
	}
	for i := range row.cells {
		fmt.Fprint(w, "\t", row.cells[i].text())
	}
	fmt.Fprintln(w, "\t"+money.Rounded(row.all.cost.USD()))
}
