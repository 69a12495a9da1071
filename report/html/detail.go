package html

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/report"
)

// Limits of lists in the details of a job.
const (
	maxChanges  = 500
	maxDenied   = 200
	maxFindings = 1000
)

// jobPage is the details of a job.
type jobPage struct {
	r        *report.Report
	j        *report.Job
	d        Detail
	reason   shownReason // where the page already has it
	max      bounds
	children map[string]bool // sessions that were shown
	calls    map[turnKey][]*report.Call
}

// turnKey identifies a turn of a session.
type turnKey struct {
	session string
	turn    int
}

func newJobPage(r *report.Report, j *report.Job, d Detail, reason shownReason) *jobPage {
	p := &jobPage{r: r, j: j, d: d, reason: reason, calls: map[turnKey][]*report.Call{}}
	for i := range j.Calls {
		c := &j.Calls[i]
		key := turnKey{c.Session, c.Turn}
		p.calls[key] = append(p.calls[key], c)
	}
	return p
}

// render makes the details with texts of limited lengths: what came out first, then how.
func (p *jobPage) render(limits bounds) g.Node {
	p.max, p.children = limits, map[string]bool{}
	return h.Div(h.Class("job"),
		p.facts(), p.ended(), p.final(), p.models(), p.verdict(), p.verify(), p.changes(), hunks(p.j.Hunks),
		p.denied(), p.network(), timeline(p.j), costs(p.j), p.extensions(), p.conversation(),
	)
}

// facts are short texts about the job.
func (p *jobPage) facts() g.Node {
	j := p.j
	var all []g.Node
	add := func(name string, value ...g.Node) { all = append(all, figure(name, value...)) }
	if j.Model != "" { // jobs that were skipped have neither
		add("Model", text(j.Model), g.If(j.ModelServed != "" && j.ModelServed != j.Model, h.Small(text(" served "+j.ModelServed))))
		add("Profile", text(j.Profile))
	}
	sandbox := cmp.Or(j.Sandbox.Level, "not started")
	if j.Sandbox.Reason != "" {
		sandbox += ": " + j.Sandbox.Reason
	}
	add("Sandbox", text(sandbox))
	for _, name := range slices.Sorted(maps.Keys(j.Matrix)) {
		add("Matrix "+name, text(j.Matrix[name]))
	}
	add("Attempts", g.Text(fmt.Sprint(j.Attempts)))
	if s := j.Script; s != nil {
		result := s.Outcome
		if s.Reason != "" {
			result += ": " + s.Reason
		}
		add("Script", text(s.File+", "+result))
	}
	u := j.Usage
	add("Tokens", g.Text(fmt.Sprintf("%s in (%s cached), %s out", tokens(u.Input), tokens(u.CacheRead), tokens(u.Output))))
	if j.Base != nil {
		add("Base", text(strings.TrimSpace(j.Base.Ref+" ")), g.Text(" "), code(hash(j.Base.Commit)))
	}
	if j.Commit != nil {
		add("Commit", code(hash(j.Commit.Hash)), g.Text(" on "), code(j.Commit.Branch))
	}
	if j.Published != nil {
		add("Pushed to", code(j.Published.Remote))
	}
	if j.PullRequest != nil {
		add("Pull request", address(j.PullRequest.URL), h.Small(text(" "+j.PullRequest.State)))
	}
	if j.Comment != nil {
		add("Comment", address(j.Comment.URL))
	}
	for _, r := range j.Requests {
		what := text(r.What() + ": " + strings.TrimSuffix(string(r.Outcome)+": "+r.Reason, ": ") + " ")
		if r.URL == "" {
			add("Request", what)
			continue
		}
		add("Request", what, address(r.URL))
	}
	if j.Patch != "" {
		add("Patch", code(j.Patch))
	}
	return h.Dl(h.Class("facts"), g.Group(all))
}

func hash(s string) string { return s[:min(len(s), 10)] }

// ended is why the job ended. What the page has above is not repeated.
func (p *jobPage) ended() g.Node {
	if p.j.Reason == "" {
		return nil
	}
	about := []g.Node{badge(string(p.j.Outcome)), g.If(p.j.ReasonCode != "", g.Group{g.Text(" "), code(string(p.j.ReasonCode))})}
	if p.reason.id != "" && len(p.j.Reason) <= maxReason {
		where := "the reason is above"
		if others := p.reason.jobs - 1; others > 0 {
			where += ", with " + figures.Count(others, "other job")
		}
		return h.P(g.Group(about), g.Text(" "), h.A(h.Href("#"+p.reason.id), g.Text(where)))
	}
	return h.Section(h.H3(g.Text("Reason")), h.P(about...), block("reason", cut(p.j.Reason, p.max.text)))
}

// models lists the models that continued the job, and why.
func (p *jobPage) models() g.Node {
	var items []g.Node
	for i := range p.j.Escalation {
		items = append(items, h.Li(text(cut(p.j.Escalation[i].String(), maxReason))))
	}
	for _, f := range p.j.Fallbacks {
		items = append(items, h.Li(text(fmt.Sprintf("turn %d: fallback from %s to %s: %s", f.Turn, f.From, f.To, cut(f.Error, maxReason)))))
	}
	if len(items) == 0 {
		return nil
	}
	return h.Section(h.H3(g.Text("Models")), h.Ol(items...))
}

// verdict is what another session found in the changes.
func (p *jobPage) verdict() g.Node {
	verdict := p.j.Verdict()
	if verdict == "" {
		return nil
	}
	var items []g.Node
	for _, o := range p.j.Review.Objections {
		items = append(items, h.Li(text(cut(o, maxReason))))
	}
	return h.Section(h.H3(g.Text("Review")), h.P(text(cut(verdict, maxReason))), g.If(len(items) > 0, h.Ul(items...)))
}

func (p *jobPage) final() g.Node {
	var content g.Node
	switch {
	case p.j.Findings() != nil:
		return p.review()
	case len(p.j.Output) > 0:
		content = block("", cut(indented(p.j.Output), p.max.text))
	case strings.TrimSpace(p.j.FinalMessage) != "":
		content = markdown(cut(p.j.FinalMessage, p.max.text))
	default:
		return nil
	}
	return h.Section(h.H3(g.Text("Final message")), content)
}

// review shows the findings of a review.
func (p *jobPage) review() g.Node {
	r := p.j.Findings()
	var rows []g.Node
	for _, f := range r.Findings[:min(len(r.Findings), maxFindings)] {
		what := []g.Node{text(cut(f.Message, p.max.result))}
		if f.Suggestion != "" {
			what = append(what, h.P(h.Class("note"), text("Suggestion: "+cut(f.Suggestion, p.max.result))))
		}
		rows = append(rows, h.Tr(h.Td(badge(string(f.Severity))), h.Th(g.Attr("scope", "row"), code(f.Location())), h.Td(text(f.Rule)), h.Td(what...)))
	}
	if len(rows) == 0 {
		return h.Section(h.H3(g.Text("Findings")), h.P(text(r.Summary)), h.P(g.Text("No findings.")))
	}
	var head []g.Node
	for _, name := range []string{"Severity", "Location", "Rule", "Finding"} {
		head = append(head, h.Th(g.Attr("scope", "col"), g.Text(name)))
	}
	return h.Section(h.H3(g.Text(figures.Count(len(r.Findings), "finding"))), h.P(text(r.Summary)), h.Table(h.THead(h.Tr(head...)), h.TBody(rows...)))
}

// indented formats JSON for people.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// verify shows each verify command before the agent and after each attempt. The output of one that failed in the end is open.
func (p *jobPage) verify() g.Node {
	var order []string
	runs := map[string][]g.Node{}
	add := func(name, when string, ok, last bool, exit string, ms int64, tail string) {
		if runs[name] == nil {
			order = append(order, name)
		}
		summary := []g.Node{badge(passed(ok)), text(fmt.Sprintf(" %s, %s, %s", when, exit, figures.Duration(ms)))}
		if strings.TrimSpace(tail) == "" {
			runs[name] = append(runs[name], h.P(g.Group(summary), g.Text(", no output")))
			return
		}
		runs[name] = append(runs[name], h.Details(g.If(last && !ok, g.Attr("open")), h.Summary(summary...), h.Div(block("", cut(tail, p.max.result)))))
	}
	for _, b := range p.j.Baseline {
		add(b.Name, "before the agent", b.Passed, false, b.Exit(), b.ElapsedMS, b.Output())
	}
	last := map[string]int{}
	for i, v := range p.j.Verify {
		last[v.Name] = i
	}
	for i, v := range p.j.Verify {
		add(v.Name, v.After()+v.Where(), v.Passed, last[v.Name] == i, v.Exit(), v.ElapsedMS, v.Output())
	}
	if len(order) == 0 {
		return nil
	}
	var all []g.Node
	for _, name := range order {
		all = append(all, h.H4(text(name)), g.Group(runs[name]))
	}
	return h.Section(h.H3(g.Text("Verify")), g.Group(all))
}

func (p *jobPage) changes() g.Node {
	if len(p.j.Changes)+len(p.j.Untracked)+len(p.j.LeftOut) == 0 {
		return nil
	}
	added, removed := 0, 0
	for _, c := range p.j.Changes {
		added, removed = added+c.Added, removed+c.Removed
	}
	content := []g.Node{h.H3(g.Text("Changes")), h.P(g.Text(fmt.Sprintf("%s, +%d −%d", figures.Count(len(p.j.Changes), "path"), added, removed)))}
	if p.d.Patch != "" {
		content = append(content, patch(p.d.Patch, p.j.Hunks, p.max.patch)...)
	} else {
		var items []g.Node
		for _, c := range p.j.Changes[:min(len(p.j.Changes), maxChanges)] {
			items = append(items, h.Li(text(fmt.Sprintf("%s ", c.Kind)), code(c.Path), g.Text(fmt.Sprintf(" +%d −%d", c.Added, c.Removed))))
		}
		content = append(content, h.Ul(items...))
	}
	for _, f := range p.j.LeftOut[:min(len(p.j.LeftOut), maxChanges)] {
		content = append(content, h.P(text("left out, made by "+string(f.By)+": "), code(f.Path)))
	}
	for _, u := range p.j.Untracked[:min(len(p.j.Untracked), maxChanges)] {
		content = append(content, h.P(text(u.Kind+", not committed, but readable for verify: "), code(u.Path)))
	}
	return h.Section(content...)
}

func (p *jobPage) denied() g.Node {
	if len(p.j.Denied) == 0 {
		return nil
	}
	var items []g.Node
	for _, d := range p.j.Denied[:min(len(p.j.Denied), maxDenied)] {
		rule := d.Source
		if d.Rule != "" {
			rule = d.Rule + " (" + d.Source + ")"
		}
		items = append(items, h.Li(text(fmt.Sprintf("turn %d: %s ", d.Turn, d.Tool)), code(cut(string(d.Input), 200)), g.Text(" by "), code(rule)))
	}
	if more := len(p.j.Denied) - maxDenied; more > 0 {
		items = append(items, h.Li(g.Text(fmt.Sprintf("and %d more", more))))
	}
	return h.Section(h.H3(g.Text("Denied calls")),
		h.P(g.Text(fmt.Sprintf("%s in %s, cost %s", figures.Count(len(p.j.Denied), "call"), figures.Count(p.j.DeniedTurns, "turn"), money.Rounded(p.j.DeniedCost)))), h.Ul(items...))
}

func (p *jobPage) network() g.Node {
	if len(p.j.Network) == 0 {
		return nil
	}
	var items []g.Node
	for _, n := range p.j.Network {
		host := n.Host
		if n.Port > 0 {
			host = fmt.Sprintf("%s:%d", n.Host, n.Port)
		}
		items = append(items, h.Li(code(host), text(": "+cut(n.Reason, maxReason)), g.If(n.Fix != "", text("; "+n.Fix))))
	}
	return h.Section(h.H3(g.Text("Denied network access")), h.Ul(items...))
}

func (p *jobPage) extensions() g.Node {
	if len(p.j.Extensions) == 0 {
		return nil
	}
	var all []g.Node
	for _, e := range p.j.Extensions {
		about := fmt.Sprintf(" %s, %s, %s", e.Kind, figures.Count(e.Calls, "call"), figures.Count(e.Errors, "error"))
		if e.Server != nil {
			about += fmt.Sprintf(", %s %s", e.Server.Name, e.Server.Version)
		}
		if e.Restarts > 0 {
			about += ", " + figures.Count(e.Restarts, "restart")
		}
		content := []g.Node{badge(string(e.Status)), g.Text(" "), code(e.Name), text(about)}
		if e.Error != "" {
			content = append(content, block("reason", cut(e.Error, p.max.result)))
		}
		if e.StderrTail != "" {
			content = append(content, fold("", []g.Node{g.Text("standard error")}, []g.Node{block("", cut(e.StderrTail, p.max.result))}))
		}
		all = append(all, h.Li(content...))
	}
	return h.Section(h.H3(g.Text("Extensions")), h.Ul(all...))
}
