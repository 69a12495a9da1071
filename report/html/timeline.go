package html

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report"
)

// span is something that took time.
type span struct {
	from, to    time.Time
	class, name string
}

// lane is a row of the timeline.
type lane struct {
	name  string
	spans []span
}

func (l *lane) add(from report.Time, ms int64, class, name string) {
	if from.IsZero() {
		return
	}
	to := from.Add(time.Duration(ms) * time.Millisecond)
	l.spans = append(l.spans, span{from.Time, to, class, name + ", " + figures.Duration(ms)})
}

// lanes returns what happened in a job: its phases, and for each session the model and the
// tools.
func lanes(j *report.Job) []lane {
	phases := lane{name: "phases"}
	for _, p := range j.Phases {
		class := "phase"
		if p.Error != "" {
			class = "bad"
		}
		phases.add(p.StartedAt, p.ElapsedMS, class, p.Name)
	}
	all := []lane{phases}
	for i := range j.Sessions {
		s := &j.Sessions[i]
		before := ""
		if s.Parent != nil {
			before = s.Name() + " "
		}
		model, tools := lane{name: before + "model"}, lane{name: before + "tools"}
		for _, t := range s.TurnCosts {
			class, more := "model", ""
			if t.Retries > 0 {
				class, more = "warn", ", "+figures.Count(t.Retries, "retry")
			}
			if t.Error != "" {
				class = "bad"
			}
			model.add(t.StartedAt, t.ElapsedMS, class, fmt.Sprintf("turn %d, %s%s", t.Turn, money.Rounded(t.CostUSD), more))
		}
		for k := range j.Calls {
			if c := &j.Calls[k]; c.Session == s.ID {
				tools.add(c.StartedAt, c.ElapsedMS, tone(string(c.Status)), fmt.Sprintf("%s %s (%s)", c.Tool, cut(c.Title, 80), c.Status))
			}
		}
		all = append(all, model, tools)
	}
	verify := lane{name: "verify"}
	for _, v := range j.Verify {
		class := "good"
		if !v.Passed {
			class = "bad"
		}
		verify.add(v.StartedAt, v.ElapsedMS, class, fmt.Sprintf("%s, %s: %s", v.Name, v.After(), passed(v.Passed)))
	}
	all = append(all, verify)
	return slices.DeleteFunc(all, func(l lane) bool { return len(l.spans) == 0 })
}

func passed(ok bool) string {
	if ok {
		return string(event.Passed)
	}
	return string(event.Failed)
}

// scale maps times to positions from 0 to 1000. Long idle times, such as those between two
// processes of a run that was resumed, have a small share.
type scale struct {
	busy []span // united, in order
	at   []float64
	per  float64 // position of a millisecond
}

// idle is the share of an idle time in the drawing, of 1000.
const idle = 20

func newScale(all []lane) *scale {
	var spans []span
	for _, l := range all {
		spans = append(spans, l.spans...)
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].from.Before(spans[j].from) })
	s := &scale{}
	total := time.Duration(0)
	for _, one := range spans {
		if last := len(s.busy) - 1; last >= 0 && one.from.Sub(s.busy[last].to) <= time.Minute {
			if one.to.After(s.busy[last].to) {
				s.busy[last].to = one.to
			}
			continue
		}
		s.busy = append(s.busy, span{from: one.from, to: one.to})
	}
	for _, b := range s.busy {
		total += b.to.Sub(b.from)
	}
	s.per = (1000 - float64(idle*(len(s.busy)-1))) / max(1, float64(total.Milliseconds()))
	x := 0.0
	for _, b := range s.busy {
		s.at = append(s.at, x)
		x += float64(b.to.Sub(b.from).Milliseconds())*s.per + idle
	}
	return s
}

func (s *scale) position(t time.Time) float64 {
	i, _ := slices.BinarySearchFunc(s.busy, t, func(b span, t time.Time) int { return b.from.Compare(t) })
	if i == len(s.busy) || s.busy[i].from.After(t) {
		i = max(0, i-1)
	}
	return s.at[i] + float64(t.Sub(s.busy[i].from).Milliseconds())*s.per
}

// maxLanes is the maximum number of rows: jobs may have many subagents.
const maxLanes = 40

// timeline draws when a job did what.
func timeline(j *report.Job) g.Node {
	all := lanes(j)
	if len(all) == 0 {
		return nil
	}
	s := newScale(all)
	if len(s.busy) > 40 {
		return nil // no drawing shows this
	}
	var rows []g.Node
	for _, l := range all[:min(len(all), maxLanes)] {
		var shapes []g.Node
		for _, one := range l.spans {
			x := s.position(one.from)
			shapes = append(shapes, rect(one.name, one.class, x, 0, max(2, s.position(one.to)-x), 10))
		}
		rows = append(rows, h.Span(text(l.name)), svgImage(describe(l), "lane", 1000, 10, shapes...))
	}
	first, last := s.busy[0].from, s.busy[len(s.busy)-1].to
	idleText := ""
	if len(s.busy) > 1 {
		idleText = ", idle times shortened"
	}
	rows = append(rows, h.Span(), h.Span(h.Class("axis"), h.Span(g.Text("0s")), h.Span(g.Text(figures.Duration(last.Sub(first).Milliseconds())+idleText))))
	return h.Section(h.H3(g.Text("Timeline")), h.Div(h.Class("timeline"), g.Group(rows)), legend(all), phases(j),
		g.If(len(all) > maxLanes, h.P(g.Text(figures.Count(len(all)-maxLanes, "other row")+" omitted."))))
}

// phases are the phases of a job with their durations, also those of 0ms: two runs differ only in times. It is nil for none.
func phases(j *report.Job) g.Node {
	var all []string
	for _, p := range j.Phases {
		all = append(all, p.Name+" "+figures.Duration(p.ElapsedMS))
	}
	if len(all) == 0 {
		return nil
	}
	return h.P(h.Class("note"), text("Phases: "+strings.Join(all, " · ")))
}

// legend explains the colours of the timeline, as far as it has them.
func legend(all []lane) g.Node {
	has := map[string]bool{}
	for _, l := range all {
		for _, s := range l.spans {
			has[s.class] = true
		}
	}
	var items []g.Node
	for _, c := range []struct{ class, name string }{
		{"phase", "phase"}, {"model", "model request"}, {"good", "passed"}, {"bad", "failed"}, {"warn", "retried"}, {"deny", "denied"},
	} {
		if has[c.class] {
			items = append(items, key(c.class, c.name))
		}
	}
	return h.Ul(h.Class("legend note"), g.Group(items))
}

// key is a colour with its name.
func key(class, name string) g.Node {
	return h.Li(svg("key", 10, 10, rect("", class, 0, 0, 10, 10)), g.Text(name))
}

// describe is the text of a row of the timeline.
func describe(l lane) string {
	sum := time.Duration(0)
	for _, s := range l.spans {
		sum += s.to.Sub(s.from)
	}
	return fmt.Sprintf("%s: %s, %s in total", l.name, figures.Count(len(l.spans), "span"), figures.Duration(sum.Milliseconds()))
}

// turn is a turn of a session in a job.
type turn struct {
	session string
	child   bool
	report.TurnCost
}

// costs draws and lists the costs of the turns.
func costs(j *report.Job) g.Node {
	var all []turn
	highest, children := money.USD(0), false
	for i := range j.Sessions {
		s := &j.Sessions[i]
		for _, t := range s.TurnCosts {
			all, children = append(all, turn{s.Name(), s.Parent != nil, t}), children || s.Parent != nil
			if t.CostUSD != nil {
				highest = max(highest, *t.CostUSD)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b turn) int { return cmp.Compare(a.StartedAt.UnixMilli(), b.StartedAt.UnixMilli()) })
	var bars, rows []g.Node
	for i, t := range all {
		class := "model"
		if t.child {
			class = "child"
		}
		height := 0.0
		if t.CostUSD != nil && highest > 0 {
			height = 40 * float64(*t.CostUSD) / float64(highest)
		}
		bars = append(bars, rect(fmt.Sprintf("%s turn %d: %s", t.session, t.Turn, money.Rounded(t.CostUSD)), class, float64(i)*10+1, 40-height, 8, height))
		rows = append(rows, h.Tr(
			h.Th(g.Attr("scope", "row"), text(fmt.Sprintf("%s %d", t.session, t.Turn))), h.Td(text(cmp.Or(t.Served, t.Model))),
			cell(tokens(t.Usage.Input)), cell(tokens(t.Usage.CacheRead)), cell(tokens(t.Usage.Output)), cell(money.Rounded(t.CostUSD)), cell(figures.Duration(t.ElapsedMS)), cell(fmt.Sprint(t.Retries)),
		))
	}
	head := []g.Node{h.Th(g.Attr("scope", "col"), g.Text("Turn")), h.Th(g.Attr("scope", "col"), g.Text("Model"))}
	for _, name := range []string{"Input", "Cached", "Output", "Cost", "Time", "Retries"} {
		head = append(head, h.Th(g.Attr("scope", "col"), h.Class("n"), g.Text(name)))
	}
	label := fmt.Sprintf("Cost by turn: %s, the highest %s", figures.Count(len(all), "turn"), money.Rounded(&highest))
	return h.Section(h.H3(g.Text("Cost by turn")),
		h.Div(h.Class("chart"),
			h.Span(h.Class("high"), g.Text(money.Rounded(&highest))), h.Span(h.Class("low"), g.Text("$0")),
			svgImage(label, "costs", float64(max(len(all), 20))*10, 40, bars...),
			h.Span(h.Class("axis"), g.Text("turn 1"), g.If(len(all) > 1, g.Text(fmt.Sprint(" to ", len(all))))),
		),
		g.If(children, h.Ul(h.Class("legend note"), key("model", "session of the job"), key("child", "subagent or reviewer"))),
		fold("", []g.Node{g.Text(figures.Count(len(all), "turn") + ", " + money.Rounded(j.CostUSD))},
			[]g.Node{h.Table(h.Class("turns"), h.THead(h.Tr(head...)), h.TBody(rows...))}))
}

func cell(s string) g.Node { return h.Td(h.Class("n"), text(s)) }
