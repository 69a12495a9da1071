package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/text/figures"
	"github.com/millhand/millhand/internal/text/printable"
)

// formatText returns the lines of an entry for people: the time since the start of the
// run, the job, its turn and cost, and the text. Text of a model or a command follows a
// bar.
func (l *Log) formatText(e event.Event, entry entry) string {
	s := &l.state
	prefix := fmt.Sprintf("%6s  ", figures.Duration(max(0, e.Time.Sub(s.started).Milliseconds())))
	if e.Job != "" {
		prefix += l.columns(e)
	}
	text := printable.Line(entry.text, printable.Width)
	if entry.model {
		text = "| " + text
	}
	var b strings.Builder
	for _, line := range entry.block {
		line = strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    ")
		if line = strings.TrimRight(cut(line, printable.Width), " "); strings.HasPrefix(line, "|") {
			line = l.paint(dim, line)
		}
		b.WriteString("          " + line + "\n")
	}
	if l.fold != nil && entry.output && b.Len() > 0 {
		l.folds++
		return l.fold(e.Time, l.folds, strings.TrimLeft(prefix+text, " "), b.String())
	}
	return prefix + l.paint(entry.style, text) + "\n" + b.String()
}

// columns returns the columns of a job: its name if there are several jobs, a subagent's
// name, the turn and the cost so far.
func (l *Log) columns(e event.Event) string {
	s, text := &l.state, ""
	j := s.find(e.Job)
	if width := s.label; width > 0 {
		if l.screen != nil {
			cols, _ := l.screen.size()
			width = min(width, cols/3)
		}
		text = pad(cut(e.Job, width), width) + "  "
	}
	if l.screen == nil { // otherwise the live lines have turn and cost
		turn := ""
		if n := j.turn(e.Session); n > 0 {
			turn = fmt.Sprintf("turn %d", n)
		}
		text += fmt.Sprintf("%s  %8s  ", pad(turn, 7), &j.cost)
	}
	if agent := j.agents[e.Session]; agent != "" {
		text += printable.Line(agent, maxLabel) + ": "
	}
	return text
}

// paint colours a text.
func (l *Log) paint(style, text string) string {
	if !l.colour || style == plain {
		return text
	}
	return painted(style, text)
}

func painted(style, text string) string { return "\x1b[" + style + "m" + text + "\x1b[0m" }

// Outcomes returns a function that formats outcomes for a stream: with the colours of the
// log if it has colours; see [New].
func Outcomes(out io.Writer, getenv func(string) string) func(event.Outcome) string {
	if !Colours(out, getenv) {
		return func(o event.Outcome) string { return string(o) }
	}
	return func(o event.Outcome) string { return painted(outcomeStyle(o), string(o)) }
}
