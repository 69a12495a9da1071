package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/millhand/millhand/internal/event"
	"github.com/millhand/millhand/internal/money"
	"github.com/millhand/millhand/internal/printable"
)

// console is the log for people: one line for each thing that happened, with
// the job, the time and, once it is known, the turn and the cost so far.
type console struct {
	out     io.Writer
	level   zerolog.Level
	colour  bool
	started time.Time
	jobs    map[string]*progress
	many    bool
}

// progress is where one job stands: its sessions by their turns, which each
// counts for itself, and the cost of all.
type progress struct {
	turns  map[string]int
	main   string            // the job's own session, for what is of none
	agents map[string]string // of subagents' sessions
	usd    money.USD
	any    bool // any cost is known
}

func newConsole(out io.Writer, level zerolog.Level, colour bool) *console {
	return &console{out: out, level: level, colour: colour, jobs: map[string]*progress{}}
}

// Emit writes at most one line. That nobody reads it any more is no fault of
// the run.
func (c *console) Emit(e event.Event) error {
	if c.started.IsZero() {
		c.started = e.Time
	}
	if e.Run != nil {
		c.many = len(e.Run.Jobs) > 1
	}
	c.follow(e)
	l := line(e)
	if l.text == "" || l.level < c.level {
		return nil
	}
	fmt.Fprintf(c.out, "%s %s%s\n", e.Time.Sub(c.started).Round(100*time.Millisecond).String(), c.where(e), c.paint(e, printable.Line(l.text, printable.Width)))
	return nil
}

// follow keeps count of a job's turns and cost.
func (c *console) follow(e event.Event) {
	if e.Job == "" {
		return
	}
	p := c.jobs[e.Job]
	if p == nil {
		p = &progress{turns: map[string]int{}, agents: map[string]string{}}
		c.jobs[e.Job] = p
	}
	switch {
	case e.Type == event.SessionStarted && e.SessionInfo.Parent == "":
		p.main = e.Session
	case e.Type == event.SessionStarted:
		p.agents[e.Session] = e.SessionInfo.Agent
	case e.Type == event.TurnStarted:
		p.turns[e.Session] = e.Turn.Number
	case e.Type == event.TurnEnded && e.Turn.CostUSD != nil:
		p.usd, p.any = p.usd.Add(*e.Turn.CostUSD), true
	case e.Type == event.JobEnded:
		delete(c.jobs, e.Job)
	}
}

// where says which job a line is about, and how far it is.
func (c *console) where(e event.Event) string {
	if e.Job == "" {
		return ""
	}
	var b strings.Builder
	if c.many {
		fmt.Fprintf(&b, "[%s] ", e.Job)
	}
	p := c.jobs[e.Job]
	if p == nil {
		return b.String()
	}
	if agent := p.agents[e.Session]; agent != "" {
		fmt.Fprintf(&b, "%s ", agent)
	}
	if turn := p.turns[cmp.Or(e.Session, p.main)]; turn > 0 {
		fmt.Fprintf(&b, "turn %d ", turn)
		if p.any {
			fmt.Fprintf(&b, "%s ", Dollars(&p.usd))
		}
	}
	return b.String()
}

// paint colours what a reader looks for.
func (c *console) paint(e event.Event, text string) string {
	if !c.colour {
		return text
	}
	const red, green, yellow, dim = "31", "32", "33", "2"
	code := ""
	switch {
	case e.Type == event.JobEnded && e.JobEnd.Outcome == event.Passed, e.Verify != nil && e.Verify.Passed:
		code = green
	case e.Type == event.JobEnded, e.Verify != nil, e.Call != nil && e.Call.Status != event.CallCompleted:
		code = red
	case e.Warning != nil, e.Retry != nil:
		code = yellow
	case e.Call != nil:
		code = dim
	}
	if code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
