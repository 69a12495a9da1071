package html

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/report"
	"github.com/millhand/millhand/report/transcript"
)

// conversation shows the sessions of the job. Those of subagents are in the calls that
// started them.
func (p *jobPage) conversation() g.Node {
	var all []g.Node
	for i := range p.j.Sessions {
		if s := &p.j.Sessions[i]; s.Parent == nil {
			p.children[s.ID] = true // a file that others wrote may have it as its own subagent
			all = append(all, p.session(s))
		}
	}
	for i := range p.j.Sessions {
		if s := &p.j.Sessions[i]; s.Parent != nil && !p.children[s.ID] {
			all = append(all, p.child(s))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return h.Section(h.H3(g.Text("Conversation")), g.Group(all))
}

// said is the texts of a session by turn.
type said struct {
	prompts   map[int][]g.Node // before a turn
	responses map[int]*journal.Message
	results   map[string]*journal.Message // by turn and id of the call
	rest      []g.Node                    // after the last turn
}

// resultKey identifies a call in a session.
func resultKey(turn int, id string) string { return fmt.Sprintf("%d %s", turn, id) }

// said collects the texts of a session; s is nil if its conversation was not saved.
func (p *jobPage) said(s *transcript.Session) *said {
	all := &said{prompts: map[int][]g.Node{}, responses: map[int]*journal.Message{}, results: map[string]*journal.Message{}}
	if s == nil {
		return all
	}
	for _, e := range s.Entries() {
		switch {
		case e.Session != nil:
			if text := e.Session.System; text != "" {
				all.rest = append(all.rest, p.prompt("System prompt and tools", text+"\n\nTools: "+strings.Join(e.Session.Tools, ", ")))
			}
		case e.Compaction != nil:
			all.rest = append(all.rest, p.prompt("A summary replaced older messages", e.Compaction.By.Text))
		case e.Resume != nil:
			all.rest = append(all.rest, h.P(h.Class("note"), g.Text("Continued by another process.")))
		case e.Message == nil:
		case e.Message.Role == model.Assistant:
			all.responses[e.Message.Turn] = e.Message
			all.prompts[e.Message.Turn] = append(all.prompts[e.Message.Turn], all.rest...)
			all.rest = nil
		case e.Message.Role == model.ToolRole:
			all.results[resultKey(e.Message.Turn, e.Message.CallID)] = e.Message
		default:
			all.rest = append(all.rest, p.prompt("Prompt", e.Message.Text))
		}
	}
	return all
}

func (p *jobPage) prompt(name, body string) g.Node {
	return fold("prompt", []g.Node{h.Strong(g.Text(name)), h.Span(h.Class("preview"), text(" "+preview(body)))}, []g.Node{block("", cut(body, p.max.text))})
}

// preview is the start of a text in one line.
func preview(s string) string {
	return textcut.Head(textcut.OneLine(textcut.Head(s, 400, "")), 100, "…")
}

func (p *jobPage) session(s *report.Session) g.Node {
	said := p.said(p.d.Sessions[s.ID])
	costs := map[int]*report.TurnCost{}
	numbers := map[int]bool{}
	for i := range s.TurnCosts {
		costs[s.TurnCosts[i].Turn] = &s.TurnCosts[i]
		numbers[s.TurnCosts[i].Turn] = true
	}
	for key := range p.calls {
		if key.session == s.ID {
			numbers[key.turn] = true
		}
	}
	for n := range said.responses {
		numbers[n] = true
	}
	var all []g.Node
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		all = append(all, said.prompts[n]...)
		all = append(all, p.turn(s, n, costs[n], said))
	}
	all = append(all, said.rest...)
	if p.d.Sessions[s.ID] == nil {
		all = append(all, h.P(h.Class("note"), g.Text("The texts of this conversation were not saved, or are not in this directory.")))
	}
	return h.Div(h.Class("session"), g.Group(all), h.P(h.Class("note"), text(howEnded(s))))
}

// howEnded describes how a session ended.
func howEnded(s *report.Session) string {
	about := fmt.Sprintf("%s, %s, %s", s.Agent, figures.Count(s.Turns, "turn"), money.Rounded(s.CostUSD))
	if s.End == "" {
		return about + ", did not end"
	}
	return about + ", ended: " + cmp.Or(s.Reason, s.End)
}

func (p *jobPage) child(s *report.Session) g.Node {
	p.children[s.ID] = true
	return fold("child", []g.Node{h.Strong(g.Text("Subagent ")), code(s.Name()), text(" " + howEnded(s))}, []g.Node{p.session(s)})
}

// turn shows a response and its calls; turn 0 has the calls that the prompt requested.
func (p *jobPage) turn(s *report.Session, n int, cost *report.TurnCost, said *said) g.Node {
	title := "Calls of the prompt"
	if n > 0 {
		title = fmt.Sprintf("Turn %d", n)
	}
	head := []g.Node{h.H4(g.Text(title))}
	if cost != nil {
		facts := fmt.Sprintf("%s in, %s out, %s, %s", tokens(cost.Usage.Input), tokens(cost.Usage.Output), money.Rounded(cost.CostUSD), figures.Duration(cost.ElapsedMS))
		if cost.Retries > 0 {
			facts += ", " + figures.Count(cost.Retries, "retry")
		}
		head = append(head, h.Span(h.Class("note"), text(facts)))
	}
	content := []g.Node{h.Header(head...)}
	if cost != nil && cost.Error != "" {
		content = append(content, block("reason", cut(cost.Error, p.max.result)))
	}
	if m := said.responses[n]; m != nil {
		if strings.TrimSpace(m.Reasoning) != "" {
			content = append(content, fold("prompt", []g.Node{g.Text("Reasoning"), h.Span(h.Class("preview"), text(" "+preview(m.Reasoning)))}, []g.Node{block("", cut(m.Reasoning, p.max.text))}))
		}
		if strings.TrimSpace(m.Text) != "" {
			content = append(content, markdown(cut(m.Text, p.max.text)))
		}
	}
	for _, c := range p.calls[turnKey{s.ID, n}] {
		content = append(content, p.call(c, said.results[resultKey(n, c.ID)]))
	}
	return h.Article(content...)
}

// call shows a call; result is nil if its text was not saved.
func (p *jobPage) call(c *report.Call, result *journal.Message) g.Node {
	about := figures.Duration(c.ElapsedMS)
	if m := c.Metadata.String(); m != "" {
		about = m + ", " + about
	}
	if c.Cached {
		about += ", cached"
	}
	if c.Extension != "" {
		about += ", by " + c.Extension
	}
	title := c.Title
	if c.Tool == "bash" {
		if command := argument(c.Input, "command"); command != "" {
			title = preview(command)
		}
	}
	summary := []g.Node{badge(string(c.Status)), g.Text(" "), h.Strong(text(c.Tool)), g.If(title != "", g.Group{g.Text(" "), code(cut(title, 300))}), h.Span(h.Class("note"), text(" "+about))}
	// The arguments become nodes only as they are written: a diff has several for each line.
	content := []g.Node{g.NodeFunc(func(w io.Writer) error { return g.Group(p.arguments(c)).Render(w) })}
	if d := c.Decision; d != nil {
		verb := "Allowed by "
		if d.Effect == "deny" {
			verb = "Denied by "
		}
		content = append(content, h.P(h.Class("note"), g.Text(verb), code(cmp.Or(d.Rule, "no rule")), text(" ("+d.Source+")")))
	}
	if c.Error != "" {
		content = append(content, block("reason", cut(c.Error, p.max.result)))
	}
	if result != nil && result.Text != "" && strings.TrimPrefix(result.Text, "Error: ") != c.Error {
		content = append(content, h.H5(g.Text("Result")), block("", cut(result.Text, p.max.result)))
	}
	if result != nil {
		for _, a := range result.Attachments {
			content = append(content, h.P(h.Class("note"), text(fmt.Sprintf("attached: %s (%s, %s)", a.Name, a.MIME, figures.Bytes(int64(len(a.Data)))))))
		}
	}
	if m := c.Metadata; m != nil {
		if m.OutputPath != "" {
			content = append(content, h.P(h.Class("note"), g.Text("Full output: "), code(m.OutputPath)))
		}
		for i := range p.j.Sessions {
			if s := &p.j.Sessions[i]; s.ID == m.ChildSession && !p.children[s.ID] {
				content = append(content, p.child(s))
			}
		}
	}
	class := "call"
	if c.Status != event.CallCompleted {
		class += " " + tone(string(c.Status))
	}
	return fold(class, summary, content)
}

// arguments shows the arguments of a call: edits as a diff, the others as texts.
func (p *jobPage) arguments(c *report.Call) []g.Node {
	before, after := argument(c.Input, "oldString"), argument(c.Input, "newString")
	var all []g.Node
	for _, a := range arguments(c.Input) {
		switch {
		case c.Tool == "edit" && (a.name == "oldString" || a.name == "newString") && before+after != "":
			continue
		case c.Tool == "apply_patch" && a.name == "patchText":
			all = append(all, lines(cut(a.value, p.max.result), nil))
		case strings.Contains(a.value, "\n") || len(a.value) > 100:
			all = append(all, h.H5(text(a.name)), block("", cut(a.value, p.max.result)))
		default:
			all = append(all, h.P(h.Class("argument"), h.Span(text(a.name+": ")), code(a.value)))
		}
	}
	if c.Tool == "edit" && before+after != "" {
		all = append(all, replaced(cut(before, p.max.result), cut(after, p.max.result)))
	}
	if len(c.InputGiven) > 0 {
		all = append(all, h.P(h.Class("note"), g.Text("A hook or a plugin replaced the arguments of the model: "), code(cut(string(c.InputGiven), p.max.result))))
	}
	return all
}

// named is an argument of a call.
type named struct{ name, value string }

// arguments returns the arguments of a call in their order; one without a name if they are
// not an object.
func arguments(input json.RawMessage) []named {
	if len(input) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(input))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return []named{{"arguments", string(input)}}
	}
	var all []named
	for d.More() {
		name, err := d.Token()
		var raw json.RawMessage
		if err != nil || d.Decode(&raw) != nil {
			return []named{{"arguments", string(input)}}
		}
		value := string(raw)
		if json.Unmarshal(raw, &value) != nil {
			value = indented(raw)
		}
		all = append(all, named{fmt.Sprint(name), value})
	}
	return all
}

// argument returns the argument with a name; "" for none.
func argument(input json.RawMessage, name string) string {
	for _, a := range arguments(input) {
		if a.name == name {
			return a.value
		}
	}
	return ""
}
