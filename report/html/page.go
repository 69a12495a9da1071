package html

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report"
)

// Limits of lists on the page.
const (
	maxNamed    = 8    // jobs named for a reason
	maxReasons  = 50   // reasons
	maxReason   = 2000 // bytes of one
	maxWarnings = 200
)

// page is what stands on the page before the jobs are opened.
type page struct {
	r            *report.Report
	repos, tasks bool  // there are several
	order        []int // indexes of the jobs: those first that did not pass
}

func newPage(r *report.Report) *page {
	p := &page{r: r}
	for _, j := range r.Jobs {
		p.repos = p.repos || j.Repo != r.Jobs[0].Repo
		p.tasks = p.tasks || j.Task != r.Jobs[0].Task
	}
	ranks := map[event.Outcome]int{}
	for i, o := range worstFirst() {
		ranks[o] = i
	}
	p.order = make([]int, len(r.Jobs))
	for i := range p.order {
		p.order[i] = i
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return ranks[r.Jobs[a].Outcome] - ranks[r.Jobs[b].Outcome] })
	return p
}

// worstFirst are the outcomes of jobs in the order of the page.
func worstFirst() []event.Outcome {
	return []event.Outcome{event.Error, event.Failed, event.Publish, event.Policy, event.Provider, event.Budget, event.Limit, event.Cancelled, event.Skipped, event.Passed}
}

func (p *page) header() g.Node {
	run := p.r.Run
	facts := []g.Node{g.Text("Run "), code(run.ID)}
	if len(run.Manifest) > 0 {
		facts = append(facts, g.Text(" of "), code(names(run.Manifest, 3, "manifest")))
	}
	if !run.StartedAt.IsZero() {
		facts = append(facts, g.Text(", started "), h.Time(h.DateTime(run.StartedAt.UTC().Format(time.RFC3339)), g.Text(run.StartedAt.UTC().Format("2006-01-02 15:04 UTC"))))
	}
	if s := run.StartedBy; s != nil {
		facts = append(facts, text(fmt.Sprintf(" by %s (%s, %s)", s.Actor, s.CI, s.Event)))
		if s.RunURL != "" {
			facts = append(facts, g.Text(": "), address(s.RunURL))
		}
	}
	if s := run.Shard; s != nil {
		facts = append(facts, g.Text(fmt.Sprintf(", shard %d of %d", s.Index, s.Total)))
	}
	return h.Header(h.H1(text(p.title()), g.Text(" "), badge(string(run.Outcome)), h.Small(g.Text(fmt.Sprintf(" exit code %d", run.ExitCode)))), h.P(facts...))
}

func (p *page) main() g.Node {
	return h.Main(p.totals(), p.outcomes(), p.rollout(), p.reasons(), p.warnings(), p.jobs())
}

// figure is a number with its name.
func figure(name string, value ...g.Node) g.Node { return h.Div(h.Dt(text(name)), h.Dd(value...)) }

func (p *page) totals() g.Node {
	t := p.r.Run.Totals
	cost := []g.Node{g.Text(money.Rounded(t.CostUSD))}
	if t.CostAtLeast != nil && *t.CostAtLeast > 0 {
		cost = []g.Node{g.Text("at least " + money.Rounded(t.CostAtLeast))}
	}
	if limit := p.r.Run.MaxCostUSD; limit != nil {
		cost = append(cost, h.Small(g.Text(" of "+money.Rounded(limit))))
		if t.CostUSD != nil && *limit > 0 {
			cost = append(cost, meter(float64(*t.CostUSD)/float64(*limit)))
		}
	}
	calls := []g.Node{g.Text(strconv.Itoa(t.ToolCalls))}
	if t.DeniedCalls > 0 {
		calls = append(calls, h.Small(g.Text(fmt.Sprintf(" %d denied", t.DeniedCalls))))
	}
	turns := []g.Node{g.Text(strconv.Itoa(t.Turns))}
	if t.Retries > 0 {
		turns = append(turns, h.Small(g.Text(" "+figures.Count(t.Retries, "retry"))))
	}
	return h.Section(h.Class("totals"), h.Aria("label", "Totals"), h.Dl(
		figure("Jobs", g.Text(strconv.Itoa(t.Jobs))),
		figure("Passed", g.Text(strconv.Itoa(t.Passed)), g.If(t.Skipped > 0, h.Small(g.Text(fmt.Sprintf(" %d skipped", t.Skipped))))),
		figure("Failed", g.Text(strconv.Itoa(t.Failed))),
		figure("Cost", cost...),
		figure("Time", g.Text(figures.Duration(p.r.Run.ElapsedMS))),
		figure("Turns", turns...),
		figure("Tool calls", calls...),
		figure("Changed paths", g.Text(strconv.Itoa(t.Changes))),
		figure("Tokens", g.Text(tokens(t.Usage.Input)+" in, "+tokens(t.Usage.Output)+" out"), g.If(t.Usage.CacheRead > 0, h.Small(g.Text(" "+tokens(t.Usage.CacheRead)+" cached")))),
	))
}

// meter is a bar that is filled to a fraction.
func meter(fraction float64) g.Node {
	return svg("meter", 100, 4, rect("", "bar", 0, 0, min(max(fraction, 0), 1)*100, 4))
}

// rollout lists what is known of the rollout of the run.
func (p *page) rollout() g.Node {
	lines := report.RolloutLines(p.r.Run.Rollout)
	if len(lines) == 0 {
		return nil
	}
	return h.Section(h.Aria("label", "Rollout"), h.H2(g.Text("Rollout")), h.Ul(g.Map(lines, func(line string) g.Node { return h.Li(text(line)) })))
}

// outcomes is a bar of all jobs by outcome, with a legend.
func (p *page) outcomes() g.Node {
	if len(p.r.Jobs) == 0 {
		return nil
	}
	count := map[event.Outcome]int{}
	var order []event.Outcome
	for _, i := range p.order {
		o := p.r.Jobs[i].Outcome
		if count[o]++; count[o] == 1 {
			order = append(order, o)
		}
	}
	var bars, legend []g.Node
	var label []string
	x := 0.0
	for _, o := range order {
		width := 1000 * float64(count[o]) / float64(len(p.r.Jobs))
		name := figures.Count(count[o], "job") + " " + string(o)
		bars = append(bars, rect(name, tone(string(o)), x, 0, width, 10))
		legend = append(legend, h.Li(badge(string(o)), g.Text(" "+strconv.Itoa(count[o]))))
		label = append(label, name)
		x += width
	}
	return h.Section(h.Class("outcomes"), h.Aria("label", "Outcomes"), svgImage("Jobs by outcome: "+strings.Join(label, ", "), "stack", 1000, 10, bars...), h.Ul(legend...))
}

// reasons lists the reasons of jobs that did not pass, the most frequent first.
func (p *page) reasons() g.Node {
	all := slices.DeleteFunc(p.r.Causes(), func(c *report.Cause) bool {
		return c.Outcome == event.Passed || c.Outcome == event.Skipped
	})
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b *report.Cause) int { return len(b.Jobs) - len(a.Jobs) })
	var items []g.Node
	for _, one := range all[:min(len(all), maxReasons)] {
		var ids []string
		for _, j := range one.Jobs {
			ids = append(ids, j.ID)
		}
		items = append(items, h.Li(
			badge(string(one.Outcome)), g.Text(" "), h.Strong(text(names(ids, maxNamed, "job"))),
			g.If(one.Code != "", g.Group{g.Text(" "), code(string(one.Code))}),
			block("reason", cut(one.Reason, maxReason)),
		))
	}
	if more := len(all) - maxReasons; more > 0 {
		items = append(items, h.Li(g.Text(figures.Count(more, "other reason")+": see the jobs below.")))
	}
	return h.Section(h.Class("reasons"), h.H2(g.Text("Did not pass")), h.Ul(items...))
}

func (p *page) warnings() g.Node {
	all := p.r.Warnings
	if len(all) == 0 {
		return nil
	}
	var items []g.Node
	for _, w := range all[:min(len(all), maxWarnings)] {
		about := ""
		if w.Job != nil {
			about = *w.Job + ": "
		}
		items = append(items, h.Li(text(about+cut(w.Message, maxReason))))
	}
	if more := len(all) - maxWarnings; more > 0 {
		items = append(items, h.Li(g.Text(fmt.Sprintf("and %d more in report.json", more))))
	}
	return fold("warnings", []g.Node{h.H2(g.Text(figures.Count(len(all), "warning")))}, []g.Node{h.Ul(items...)})
}
