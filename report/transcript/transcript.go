// Package transcript combines what the journal and the report have of a session, and writes it for people: as text
// for a terminal and as Markdown, with the first and the last lines of long texts. Texts of models, tools and
// repositories have no effect on a terminal, and are in code blocks and code spans in Markdown. It reads no files.
// Sessions do not write transcripts, but journals.
package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
	"github.com/millhand/millhand/internal/text/textcut"
	"github.com/millhand/millhand/report"
)

// Session is a session with its conversation.
type Session struct {
	Name  string         // of its file, without extension
	About report.Session // as the report has it
	State *journal.State
}

// Messages returns all messages in order, each once and as it was added: also those that
// were removed from the conversation later to save space.
func (s *Session) Messages() []journal.Message {
	var all []journal.Message
	for _, e := range s.Entries() {
		if e.Message != nil {
			all = append(all, *e.Message)
		}
	}
	return all
}

// Entries returns the history without the messages that replace others.
func (s *Session) Entries() []journal.Entry {
	var all []journal.Entry
	seen := map[string]bool{}
	for _, e := range s.State.History {
		switch {
		case e.Session != nil:
			clear(seen)
		case e.Message != nil && seen[e.Message.ID]:
			continue
		case e.Message != nil:
			seen[e.Message.ID] = true
		}
		all = append(all, e)
	}
	return all
}

// facts are what a session is, for its heading.
func (s *Session) facts() []string {
	a := s.About
	all := []string{"agent " + line(a.Agent), "model " + line(a.Model), figures.Count(a.Turns, "turn"), "cost " + money.Rounded(a.CostUSD)}
	if a.End != "" {
		all = append(all, "ended: "+line(cmp.Or(a.Reason, a.End)))
	}
	if a.RevertedTo != nil {
		all = append(all, fmt.Sprintf("reverted to turn %d", *a.RevertedTo))
	}
	if a.Parent != nil {
		all = append(all, "started by "+line(*a.Parent))
	}
	return all
}

// idOf returns the id of a message for its heading.
func idOf(m *journal.Message) string {
	if m.ID == "" {
		return ""
	}
	return " (" + line(m.ID) + ")"
}

// turnFacts describes the response of a turn; "" for nil.
func turnFacts(r *event.Turn) string {
	if r == nil {
		return ""
	}
	var all []string
	if r.Model != "" {
		all = append(all, line(r.Model))
	}
	if r.Usage != nil {
		all = append(all, fmt.Sprintf("%d+%d tokens", r.Usage.Input, r.Usage.Output))
	}
	all = append(all, money.Rounded(r.CostUSD), figures.Duration(r.ElapsedMS))
	if f := model.Finish(r.Finish); f != model.FinishStop && f != model.FinishTools && f != "" {
		all = append(all, "ended by "+line(r.Finish))
	}
	return strings.Join(all, ", ")
}

// result is a result with its call.
type result struct {
	tool, title string
	status      event.CallStatus
	about       string // metadata and duration
	args        []argument
	text        string
}

// argument is an argument of a call that its title does not contain.
type argument struct{ name, value string }

// resultOf returns a result and its call, whose input is "" if it was not found.
func resultOf(m *journal.Message, input string) result {
	r := result{tool: line(m.Tool), status: event.CallCompleted, text: m.Text}
	switch {
	case m.Denied:
		r.status = event.CallDenied
	case m.Failed:
		r.status = event.CallError
	}
	if c := m.Call; c != nil {
		r.title = line(c.Title)
		var about []string
		if text := c.Metadata.String(); text != "" {
			about = append(about, line(text))
		}
		if c.Cached {
			about = append(about, "cached")
		}
		r.about = strings.Join(append(about, figures.Duration(c.ElapsedMS)), ", ")
	}
	r.args = arguments(input, r.title)
	return r
}

// arguments lists the arguments of a call, except those that its title contains.
func arguments(input, title string) []argument {
	if strings.TrimSpace(input) == "" {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(input), &fields) != nil {
		return []argument{{"arguments", input}}
	}
	var all []argument
	inOrder := func(a, b string) int { return strings.Index(input, a) - strings.Index(input, b) }
	for _, name := range slices.SortedFunc(maps.Keys(fields), inOrder) {
		value := string(fields[name])
		if json.Unmarshal(fields[name], &value) != nil { // not a string
			var compact bytes.Buffer
			if json.Compact(&compact, fields[name]) == nil {
				value = compact.String()
			}
		}
		if one := line(value); value != "" && (one == "" || !strings.Contains(title, one)) {
			all = append(all, argument{line(name), value})
		}
	}
	return all
}

// label describes a result in a line.
func (r result) label(paint func(event.CallStatus) string) string {
	text := r.tool
	if r.title != "" {
		text += " " + r.title
	}
	text += ": " + paint(r.status)
	if r.about != "" {
		text += " (" + r.about + ")"
	}
	return text
}

// maxWidth is the maximum length of a line, in bytes.
const maxWidth = 500

// folded returns the printable lines of a text: of more than n, the first and the last
// ones.
func folded(text string, n int) []string {
	lines := strings.Split(strings.TrimRight(printable.Text(text), "\n"), "\n")
	for i, l := range lines {
		lines[i] = textcut.Head(l, maxWidth, "…")
	}
	if len(lines) <= n+1 {
		return lines
	}
	first := n * 2 / 3
	last := len(lines) - (n - first)
	return slices.Concat(lines[:first], []string{"… " + figures.Count(last-first, "line") + " …"}, lines[last:])
}

// line returns a text as one printable line.
func line(s string) string { return printable.Line(s, printable.Width) }
