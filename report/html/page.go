package html

import (
	"cmp"
	"fmt"
	"net/url"
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
	"github.com/millhand/millhand/report/rollouttext"
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
	repos, tasks bool            // there are several, and they are not the names of the jobs
	order        []int           // indexes of the jobs: those first that did not pass
	causes       []*report.Cause // why jobs did not pass: the most frequent first, then the worst
	shown        map[causeKey]shownReason
}

// causeKey identifies a cause.
type causeKey struct {
	outcome event.Outcome
	reason  string
}

// shownReason is where the page has the reason of jobs.
type shownReason struct {
	id   string // of its element
	jobs int    // how many have it
}

func newPage(r *report.Report) *page {
	p := &page{r: r, shown: map[causeKey]shownReason{}}
	named := false
	for _, j := range r.Jobs {
		p.repos = p.repos || j.Repo != r.Jobs[0].Repo
		p.tasks = p.tasks || j.Task != r.Jobs[0].Task
		named = named || j.Task != j.ID
	}
	p.tasks = p.tasks && named
	ranks := map[event.Outcome]int{}
	for i, o := range worstFirst() {
		ranks[o] = i
	}
	p.order = make([]int, len(r.Jobs))
	for i := range p.order {
		p.order[i] = i
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return ranks[r.Jobs[a].Outcome] - ranks[r.Jobs[b].Outcome] })
	p.causes = slices.DeleteFunc(r.Causes(), func(c *report.Cause) bool {
		return c.Outcome == event.Passed || c.Outcome == event.Skipped
	})
	slices.SortStableFunc(p.causes, func(a, b *report.Cause) int {
		return cmp.Or(len(b.Jobs)-len(a.Jobs), ranks[a.Outcome]-ranks[b.Outcome])
	})
	for i, c := range p.causes[:min(len(p.causes), maxReasons)] {
		p.shown[causeKey{c.Outcome, c.Reason}] = shownReason{fmt.Sprint("reason-", i+1), len(c.Jobs)}
	}
	return p
}

// worstFirst are the outcomes of jobs in the order of the page.
func worstFirst() []event.Outcome {
	return []event.Outcome{event.Error, event.Failed, event.Publish, event.Policy, event.Provider, event.Budget, event.Limit, event.Cancelled, event.Skipped, event.Passed}
}

// header is the name of the run, what it worked on, and where it ran.
func (p *page) header() g.Node {
	run := p.r.Run
	var of []g.Node
	switch repos := p.repositories(); repos {
	case 0:
	case 1:
		of = append(of, code(cut(p.r.Jobs[0].Repo, 200)))
	default:
		of = append(of, text(figures.Count(repos, "repository")))
	}
	if s := run.StartedBy; s != nil {
		ci := "CI run (" + s.CI
		if s.Event != "" {
			ci += ", " + s.Event
		}
		of = append(of, linked(s.RunURL, ci+")"))
		if s.Actor != "" {
			of = append(of, text("by "+s.Actor))
		}
	}
	facts := []g.Node{g.Text("Run "), code(run.ID)}
	if len(run.Manifest) > 0 {
		facts = append(facts, g.Text(" of "), code(names(run.Manifest, 3, "manifest")))
	}
	if !run.StartedAt.IsZero() {
		facts = append(facts, g.Text(", started "), h.Time(h.DateTime(run.StartedAt.UTC().Format(time.RFC3339)), g.Text(run.StartedAt.UTC().Format("2006-01-02 15:04 UTC"))))
	}
	if s := run.Shard; s != nil {
		facts = append(facts, g.Text(fmt.Sprintf(", shard %d of %d", s.Index, s.Total)))
	}
	return h.Header(h.H1(text(p.title())), g.If(len(of) > 0, h.P(h.Class("of"), g.Map(of, func(n g.Node) g.Node { return h.Span(n) }))),
		h.P(h.Class("note"), g.Group(facts), g.Text(fmt.Sprintf(", exit code %d", run.ExitCode))))
}

// repositories counts those of the jobs.
func (p *page) repositories() int {
	all := map[string]bool{}
	for i := range p.r.Jobs {
		all[p.r.Jobs[i].Repo] = true
	}
	return len(all)
}

func (p *page) main() g.Node {
	return h.Main(p.totals(), p.outcomes(), p.rollout(), p.reasons(), p.warnings(), p.jobs())
}

// figure is a number with its name.
func figure(name string, value ...g.Node) g.Node { return h.Div(h.Dt(text(name)), h.Dd(value...)) }

// totals are the figures that a reader looks for, and the others in a line.
func (p *page) totals() g.Node {
	t := p.r.Run.Totals
	cost := []g.Node{g.Text(money.Rounded(t.CostUSD))}
	if t.CostAtLeast != nil && *t.CostAtLeast > 0 {
		cost = []g.Node{h.Small(g.Text("at least ")), g.Text(money.Rounded(t.CostAtLeast))}
	}
	if limit := p.r.Run.MaxCostUSD; limit != nil {
		cost = append(cost, h.Small(g.Text(" of "+money.Rounded(limit))))
		if t.CostUSD != nil && *limit > 0 {
			cost = append(cost, meter(float64(*t.CostUSD)/float64(*limit)))
		}
	}
	outcome := string(p.r.Run.Outcome)
	return h.Section(h.Class("totals"), h.Aria("label", "Totals"),
		h.Dl(
			figure("Outcome", h.Span(h.Class(tone(outcome)), text(outcome)), h.Small(g.Text(fmt.Sprintf(" %d of %s passed", t.Passed, figures.Count(t.Jobs, "job"))))),
			figure("Cost", cost...),
			figure("Time", g.Text(figures.Duration(p.r.Run.ElapsedMS))),
		),
		h.P(h.Class("note"), g.Text(strings.Join(p.others(), " · "))),
	)
}

// others are the totals that few readers look for.
func (p *page) others() []string {
	t := p.r.Run.Totals
	var all []string
	if t.Failed > 0 {
		all = append(all, fmt.Sprintf("%d failed", t.Failed))
	}
	if t.Skipped > 0 {
		all = append(all, fmt.Sprintf("%d skipped", t.Skipped))
	}
	all = append(all, figures.Count(t.Turns, "turn"))
	if t.Retries > 0 {
		all = append(all, figures.Count(t.Retries, "retry"))
	}
	all = append(all, figures.Count(t.ToolCalls, "tool call"))
	if t.DeniedCalls > 0 {
		all = append(all, fmt.Sprintf("%d denied", t.DeniedCalls))
	}
	all = append(all, figures.Count(t.Changes, "changed path"), tokens(t.Usage.Input)+" tokens in", tokens(t.Usage.Output)+" out")
	if t.Usage.CacheRead > 0 {
		all = append(all, tokens(t.Usage.CacheRead)+" cached")
	}
	return all
}

// meter is a bar that is filled to a fraction.
func meter(fraction float64) g.Node {
	return svg("meter", 100, 4, rect("", "bar", 0, 0, min(max(fraction, 0), 1)*100, 4))
}

// rollout lists what is known of the rollout of the run.
func (p *page) rollout() g.Node {
	lines := rollouttext.Lines(p.r.Run.Rollout)
	if len(lines) == 0 {
		return nil
	}
	return h.Section(h.Aria("label", "Rollout"), h.H2(g.Text("Rollout")), h.Ul(g.Map(lines, func(line string) g.Node { return h.Li(text(line)) })))
}

// outcomes is a bar of all jobs by outcome, with a legend; nil if they have only one.
func (p *page) outcomes() g.Node {
	count := map[event.Outcome]int{}
	var order []event.Outcome
	for _, i := range p.order {
		o := p.r.Jobs[i].Outcome
		if count[o]++; count[o] == 1 {
			order = append(order, o)
		}
	}
	if len(order) < 2 {
		return nil
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

// reasons lists the reasons of jobs that did not pass, each once.
func (p *page) reasons() g.Node {
	all := p.causes
	if len(all) == 0 {
		return nil
	}
	var items []g.Node
	for _, one := range all[:min(len(all), maxReasons)] {
		var jobs []g.Node
		for i, j := range one.Jobs[:min(len(one.Jobs), maxNamed)] {
			jobs = append(jobs, g.If(i > 0, g.Text(", ")), h.A(h.Href("#job="+url.PathEscape(j.ID)), text(j.ID)))
		}
		if more := len(one.Jobs) - maxNamed; more > 0 {
			jobs = append(jobs, g.Text(" and "+figures.Count(more, "other job")))
		}
		items = append(items, h.Li(
			h.ID(p.shown[causeKey{one.Outcome, one.Reason}].id),
			badge(string(one.Outcome)), g.Text(" "), h.Strong(jobs...),
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
