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

// console is the log for people: one line per event, with the job, the time and, if
// known, the turn and the cost so far.
type console struct {
	out     io.Writer
	level   zerolog.Level
	colour  bool
	started time.Time
	jobs    map[string]*progress
	many    bool
}

// progress is the progress of one job: the current turn of each session, and the cost
// of all sessions.
type progress struct {
	turns  map[string]int
	main   string            // the job's own session, for events without a session
	agents map[string]string // of subagents' sessions
	usd    money.USD
	any    bool // whether any cost is known
}

func newConsole(out io.Writer, level zerolog.Level, colour bool) *console {
	return &console{out: out, level: level, colour: colour, jobs: map[string]*progress{}}
}

// Emit writes at most one line. It ignores write errors: a closed log must not stop
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

// follow tracks a job's turns and cost.
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

// where returns the prefix of a line: the job and its progress.
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
			fmt.Fprintf(&b, "%s ", money.Rounded(&p.usd))
		}
	}
	return b.String()
}

// paint colours important lines.
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
