package transcript

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

// The maximum numbers of lines of texts in a transcript.
const (
	maxPrompt    = 60
	maxReasoning = 24
	maxArgument  = 16
	maxResult    = 16
)

// text writes a transcript as text.
type text struct {
	bytes.Buffer
	paint  func(printable.Style, string) string
	inputs map[string]string // of calls by id
}

// Text writes the session for a terminal. paint adds colours. Long results are folded. No
// line starts with text of a model.
func Text(w io.Writer, s *Session, paint func(printable.Style, string) string) error {
	t := &text{paint: paint, inputs: map[string]string{}}
	t.line("", printable.Heading, "session "+line(s.Name))
	t.line("", printable.Aside, strings.Join(s.facts(), ", "))
	last := ""
	for _, e := range s.Entries() {
		switch {
		case e.Session != nil:
			t.line("", printable.Aside, fmt.Sprintf("system prompt: %s, tools: %s", figures.Count(len(e.Session.System), "byte"), line(join(e.Session.Tools))))
		case e.Message != nil:
			t.message(e.Message)
		case e.Compaction != nil:
			t.line("\n", printable.Heading, "a summary replaced older messages"+idOf(&e.Compaction.By))
			t.block("  ", "", e.Compaction.By.Text, maxPrompt)
		case e.Resume != nil && e.Resume.After != last:
			t.line("\n", printable.Heading, "continued after message "+line(e.Resume.After))
		}
		if e.Message != nil {
			last = e.Message.ID
		}
	}
	if _, err := t.WriteTo(w); err != nil {
		return fmt.Errorf("write the session: %w", err)
	}
	return nil
}

func (t *text) line(before string, s printable.Style, text string) {
	fmt.Fprintln(t, before+t.paint(s, text))
}

// block writes a folded text, whose lines start with indent.
func (t *text) block(indent string, s printable.Style, text string, n int) {
	for _, l := range folded(text, n) {
		if s != "" && l != "" {
			l = t.paint(s, l)
		}
		fmt.Fprintln(t, strings.TrimRight(indent+l, " "))
	}
}

func (t *text) message(m *journal.Message) {
	switch m.Role {
	case model.Assistant:
		title := fmt.Sprintf("turn %d", m.Turn) + idOf(m)
		if facts := turnFacts(m.Response); facts != "" {
			title += ", " + facts
		}
		t.line("\n", printable.Heading, title)
		if m.Reasoning != "" {
			t.line("  ", printable.Aside, "reasoning:")
			t.block("    ", printable.Aside, m.Reasoning, maxReasoning)
		}
		if m.Text != "" {
			t.block("  ", "", m.Text, maxPrompt)
		}
		for _, c := range m.Calls {
			t.inputs[c.ID] = c.Input
		}
	case model.ToolRole:
		t.result(resultOf(m, t.inputs[m.CallID]))
	default:
		t.line("\n", printable.Heading, "prompt"+idOf(m))
		t.block("  ", "", m.Text, maxPrompt)
	}
	for _, a := range m.Attachments {
		t.line("  ", printable.Aside, attachment(a))
	}
}

func (t *text) result(r result) {
	fmt.Fprintln(t, "  > "+r.label(func(s event.CallStatus) string {
		if s == event.CallCompleted {
			return t.paint(printable.Good, string(s))
		}
		return t.paint(printable.Bad, string(s))
	}))
	for _, a := range r.args {
		lines := folded(a.value, maxArgument)
		if len(lines) == 1 {
			fmt.Fprintln(t, "    "+t.paint(printable.Aside, a.name+": ")+lines[0])
			continue
		}
		t.line("    ", printable.Aside, a.name+":")
		t.block("      ", "", a.value, maxArgument)
	}
	if r.text != "" {
		t.block("    | ", printable.Aside, r.text, maxResult)
	}
}
