package transcript

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/journal"
	"github.com/millhand/millhand/internal/model"
	"github.com/millhand/millhand/internal/text/printable"
)

// maxMarkdown is the maximum number of lines of a result in Markdown.
const maxMarkdown = 60

// markdown writes a transcript as Markdown.
type markdown struct {
	bytes.Buffer
	inputs map[string]string // of calls by id
}

// Markdown writes the session as Markdown. What models and tools wrote is in code blocks and
// code spans, so that it can't format anything.
func Markdown(w io.Writer, s *Session) error {
	b := &markdown{inputs: map[string]string{}}
	fmt.Fprintf(b, "# Session %s\n\n", span(s.Name))
	for _, f := range s.facts() {
		fmt.Fprintf(b, "- %s\n", span(f))
	}
	last := ""
	for _, e := range s.Entries() {
		switch {
		case e.Session != nil:
			b.block("\n## System prompt\n", e.Session.System)
		case e.Message != nil:
			b.message(e.Message)
		case e.Compaction != nil:
			b.block("\n## A summary replaced older messages"+idSpan(&e.Compaction.By)+"\n", e.Compaction.By.Text)
		case e.Resume != nil && e.Resume.After != last:
			fmt.Fprintf(b, "\n## Continued after message %s\n", span(e.Resume.After))
		}
		if e.Message != nil {
			last = e.Message.ID
		}
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write the session: %w", err)
	}
	return nil
}

// block writes a text as a code block below a title.
func (b *markdown) block(title, text string) {
	lines := strings.Join(folded(text, maxMarkdown), "\n")
	fence := printable.Fence(lines)
	fmt.Fprintf(b, "%s\n%s\n%s\n%s\n", title, fence, lines, fence)
}

func (b *markdown) message(m *journal.Message) {
	switch m.Role {
	case model.Assistant:
		fmt.Fprintf(b, "\n## Turn %d%s\n", m.Turn, idSpan(m))
		if facts := turnFacts(m.Response); facts != "" {
			fmt.Fprintf(b, "\n%s\n", span(facts))
		}
		if m.Reasoning != "" {
			b.block("\nReasoning:\n", m.Reasoning)
		}
		if m.Text != "" {
			b.block("", m.Text)
		}
		for _, c := range m.Calls {
			b.inputs[c.ID] = c.Input
		}
	case model.ToolRole:
		r := resultOf(m, b.inputs[m.CallID])
		fmt.Fprintf(b, "\n### %s\n", span(r.label(func(s event.CallStatus) string { return string(s) })))
		for _, a := range r.args {
			b.block("\n"+span(a.name)+":\n", a.value)
		}
		b.block("\nResult:\n", r.text)
	default:
		b.block("\n## Prompt"+idSpan(m)+"\n", m.Text)
	}
	for _, a := range m.Attachments {
		fmt.Fprintf(b, "\n%s\n", span(attachment(a)))
	}
}

func attachment(a model.Attachment) string {
	return fmt.Sprintf("attached: %s (%s, %d bytes)", line(a.Name), line(a.MIME), len(a.Data))
}

// idSpan returns the id of a message for its heading.
func idSpan(m *journal.Message) string {
	if m.ID == "" {
		return ""
	}
	return " (" + span(m.ID) + ")"
}

// span formats a line as a code span.
func span(s string) string { return "`" + strings.ReplaceAll(line(s), "`", "'") + "`" }

func join(names []string) string { return strings.Join(names, ", ") }
